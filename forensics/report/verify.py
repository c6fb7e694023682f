"""Check that a case and, if available, its evidence are unchanged: their files against recorded hashes and row counts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from forensics.case import seals
from forensics.case.named import NotNamedError, source
from forensics.evidence.containers import Content, contents
from forensics.evidence.objects import Location
from forensics.evidence.streams import BLOCK, BROKEN
from forensics.inventory.evidence import READ, Evidence
from forensics.report.document import Block, Column, Document, Para, Table, Tone
from forensics.wording.formats import count, shorten

if TYPE_CHECKING:
    from forensics.case.folder import Case
    from forensics.case.integrity import Fault

SAME, GROWN, GONE, CHANGED, UNREADABLE = "unchanged", "grown since", "no longer there", "changed", "cannot be read"
#: The state of a place that the user has not named; see `forensics.case.named`.
NOT_OPENED = "not opened"
#: States of evidence that make the case's statements about it doubtful.
WRONG = (CHANGED, UNREADABLE)
_SHOWN = 30
#: What hashes do not cover.
_COVERS = (
    "Matching hashes exclude accidental damage, and changes by anyone who did not renew the hashes. They do not show that whoever wrote the case was honest: "
    "`--evidence DIR --derive` derives its rows again from the logs."
)
#: What the seal of a case shows, as a predicate.
SEALS = {
    seals.OWN: "has your seal: nobody without your key has changed it since your last command wrote it",
    seals.CHANGED: "was changed after you sealed it, by someone without your key or by an earlier version of this program",
    seals.OTHER: "has the seal of another user or machine, which cannot be checked here",
    seals.NONE: "has no seal: another user or an earlier version wrote it, or your key could not be stored",
    seals.UNKNOWN: "has a seal, but your key cannot be read",
}


@dataclass(frozen=True)
class Checked:
    """One evidence file, read again.

    Attributes:
        path: its path in the case.
        state: `SAME`, `GROWN` (what was read is unchanged), `GONE`, `CHANGED`, `UNREADABLE` or `NOT_OPENED`.
        why: details; may be empty.
    """

    path: str
    state: str
    why: str = ""


def evidence(case: Case, folders: Sequence[Location] = ()) -> list[Checked]:
    """Read every file that the case has rows of again from its place, and return its state.

    Args:
        case: the case.
        folders: folders in which the user says that the evidence is now.
    """
    places: dict[str, list[Evidence]] = {}
    for e in case.evidence():
        if e.status == READ and e.fingerprint.sha256 is not None:
            places.setdefault(e.place.location, []).append(e)
    return sorted((c for place, files in places.items() for c in _place(place, files, folders)), key=lambda c: c.path)


def _place(recorded: str, files: list[Evidence], folders: Sequence[Location]) -> Iterator[Checked]:
    """Yield the state of each evidence file in one file on disk; an archive is read once."""
    try:
        location = source(recorded, is_named=all(e.is_named for e in files), folders=folders)
    except NotNamedError:
        yield from (Checked(e.path, NOT_OPENED, recorded) for e in files)
        return
    left = {e.place.member: [f for f in files if f.place.member == e.place.member] for e in files}
    wrong: dict[str, Checked] = {}
    try:
        for member, content in contents(location, frozenset(left)):
            for e in left.get(member, ()):
                checked = _file(e, content)
                if checked.state in (SAME, GROWN):
                    left[member].remove(e)
                    wrong.pop(e.path, None)
                    yield checked
                else:  # an archive may have another member of this name
                    wrong[e.path] = checked
                break  # a content is read once
    except FileNotFoundError:
        wrong = {}
    except BROKEN as e:
        why = (e.strerror if isinstance(e, OSError) else None) or str(e)
        wrong = {f.path: Checked(f.path, UNREADABLE, why) for rest in left.values() for f in rest}
    yield from (wrong.get(e.path, Checked(e.path, GONE, str(location))) for rest in left.values() for e in rest)


def _file(known: Evidence, content: Content) -> Checked:
    path, size, sha256 = known.path, known.fingerprint.size or 0, known.fingerprint.sha256 or ""
    digest, left = hashlib.sha256(), size
    while left > 0 and (data := content.read(min(BLOCK, left))):
        digest.update(data)
        left -= len(data)
    if left:
        found = size - left
        if content.error:
            return Checked(path, UNREADABLE, f"{content.error}, after {found:,} of {size:,} bytes")
        return Checked(path, CHANGED, f"{found:,} bytes, not {size:,}")
    if digest.hexdigest() != sha256:
        return Checked(path, CHANGED, f"SHA-256 {digest.hexdigest()[:16]}…, was {sha256[:16]}…")
    return Checked(path, GROWN if content.read(1) else SAME)


def notice(case: Case, called: str) -> str:
    """Return a sentence for a reader of a case that does not have this user's seal; empty if it does, or if the user has already got the sentence.

    Args:
        case: the case.
        called: its path or URL in the command that the sentence names.
    """
    if case.seal == seals.OWN or (case.seal != seals.CHANGED and not seals.is_first_look(case.manifest)):
        return ""
    warning = "Warning: the" if case.seal == seals.CHANGED else "The"
    return f"{warning} case {SEALS[case.seal]}. `forensics verify {quote(called)} --evidence DIR --derive` compares it with what its logs give."


def compose(case: Case, found: Iterable[Fault], checked: list[Checked], derived: tuple[str, list[Block], Tone] | None = None) -> Document:
    """Return the results as blocks.

    Args:
        case: the case.
        found: its files that have changed since they were written.
        checked: its evidence.
        derived: the section on what the evidence gives; None: it was not derived.
    """
    out = Document()
    out.section(*_case(case, list(found)))
    out.section(*_evidence(checked))
    if derived:
        out.section(*derived)
    return out


def _case(case: Case, found: list[Fault]) -> tuple[str, list[Block], Tone]:
    recorded_files = case.manifest["contents"]
    rows = {
        part: sum(described.get("rows", 0) for path, described in recorded_files.items() if path.startswith(f"{part}/"))
        for part in ("tables", "views")
    }
    blocks: list[Block] = [
        Para(f"{count(len(recorded_files), 'file')}, {rows['tables']:,} rows in tables and {rows['views']:,} in views, according to the manifest.")
    ]
    if not found:
        blocks.append(Para(f"Its files agree with their hashes. The case {SEALS[case.seal]}."))
        if case.seal == seals.CHANGED:
            return "The case was changed, and its hashes were renewed", blocks, "bad"
        if case.seal == seals.OWN:
            return "The case is as you wrote it", blocks, "good"
        blocks.append(Para(_COVERS))
        return "The case agrees with its hashes", blocks, "good"
    blocks.append(Table((Column("file", fixed=True), Column("what")), tuple((fault.path, fault.why) for fault in found[:_SHOWN])))
    if len(found) > _SHOWN:
        blocks.append(Para(f"… and {len(found) - _SHOWN} more."))
    return f"The case is damaged: {count(len(found), 'file')}", blocks, "bad"


def _evidence(checked: list[Checked]) -> tuple[str, list[Block], Tone]:
    states = Counter(c.state for c in checked)
    by_state = ", ".join(f"{states[s]:,} {s}" for s in (SAME, GROWN, GONE, CHANGED, UNREADABLE, NOT_OPENED) if states[s]) or "the case has read none"
    blocks: list[Block] = [Para(f"{count(len(checked), 'file')} of logs: {by_state}." if checked else "The case contains no files.")]
    strange = [c for c in checked if c.state not in (SAME, GROWN)]
    if strange:
        blocks.append(Table((Column("file"), Column("is"), Column("")), tuple((c.path, c.state, shorten(c.why, 200)) for c in strange[:_SHOWN])))
        if len(strange) > _SHOWN:
            blocks.append(Para(f"… and {len(strange) - _SHOWN} more."))
    if states[NOT_OPENED]:
        blocks.append(Para("Evidence that you did not ingest yourself is opened only in a folder that you name: `--evidence DIR`."))
    if any(states[s] for s in WRONG):
        return "The evidence differs from what was ingested", blocks, "bad"
    if states[NOT_OPENED]:
        return "Not all of the evidence was checked", blocks, "warn"
    if states[GONE]:
        return "The evidence that is still available is unchanged", blocks, "warn"
    return "The evidence is unchanged", blocks, "good"
