"""Derive a case again from its evidence, with this version and an engine of this user, and compare all rows with those of the case.

Everything is decided anew from the content of the files. Taken over from the case are only statements of the user who ingested them (time zones, layouts, hosts, thresholds),
which are listed, and files that were never read and are not there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from forensics import __version__
from forensics.case import views
from forensics.case.ingestion import Options, Progress, ingest
from forensics.case.named import source
from forensics.errors import CaseError
from forensics.evidence.containers import place_of, written
from forensics.evidence.objects import Location, S3Path, opened
from forensics.inventory.evidence import READ, SUPERSEDED, UNREADABLE, Evidence
from forensics.inventory.examination import shown
from forensics.inventory.source_options import SourceOptions
from forensics.inventory.walk import FileFound, mark_of, walk
from forensics.report import comparison
from forensics.report.document import Block, Para, Tone
from forensics.report.verify import GROWN, SAME, Checked
from forensics.scratch import PrivateFolder
from forensics.wording.formats import and_more, count, shorten

if TYPE_CHECKING:
    from forensics.case.folder import Case
    from forensics.engines.base import Engine

_NAMED = 3
#: Among this many rows of each side, the two most similar ones are the example.
_TRIED = 20
_LONGEST = 300


@dataclass(frozen=True)
class Derived:
    """The result of deriving a case again.

    Attributes:
        differences: the comparison of each view and table; A is the case.
        taken: what the case alone states, in words.
        foreign: files below the user's folders that the case does not know.
        version: why differences may come from another version; empty if they cannot.
        missing: files of evidence without which nothing was derived.
    """

    differences: Sequence[comparison.Difference] = ()
    taken: Sequence[str] = ()
    foreign: Sequence[str] = ()
    version: str = ""
    missing: Sequence[str] = ()

    @property
    def differing(self) -> list[comparison.Difference]:
        """Return the views and tables whose rows differ."""
        return [d for d in self.differences if not d.same]

    @property
    def is_same(self) -> bool:
        """Return True if rows were compared and all are the same."""
        return bool(self.differences) and not self.differing


def derive(
    case: Case,
    checked: Sequence[Checked],
    engine: Engine,
    *,
    folders: Sequence[Location] = (),
    parsers: Sequence[Path] = (),
    jobs: int | None = None,
    progress: Progress,
) -> Derived:
    """Read the evidence of a case into a private folder, derive all views and compare the rows.

    Args:
        case: the case; its files agree with their hashes.
        checked: the state of its evidence.
        engine: computes the views.
        folders: folders in which the user says that the evidence is now.
        parsers: folders of pattern files with which the case was made.
        jobs: number of cores that read; None: all.
        progress: called with each step.

    Raises:
        CaseError: the case names a file in an impossible way, or a view cannot be computed.
        ForensicsError: the engine does not start.
    """
    states = {c.path: c.state for c in checked}
    known = [e for e in case.evidence() if e.status != SUPERSEDED]
    missing = [e.path for e in known if e.path in states and not (states[e.path] == SAME or (states[e.path] == GROWN and _is_cut_easily(e)))]
    if missing:
        return Derived(missing=missing)
    with PrivateFolder() as scratch:
        laid_out = _Layout(scratch / "logs", folders, states)
        files = list(laid_out.files(known))
        options = Options(laid_out.options(known), tuple(parsers), keep_all=bool(case.manifest.get("keep_all")))
        summary = ingest([], scratch / "case", options, files=files, jobs=jobs, progress=progress)
        derived = views.build(summary.case, engine, lambda view, number, of: progress(f"views: {view}", number, of), case.thresholds)
        differences = [*comparison.compare(case, derived, samples=_TRIED), *comparison.events(case, derived, samples=_TRIED)]
        return Derived(differences, laid_out.taken(known, case.thresholds), laid_out.foreign(case.root), _version(case, derived))


def _is_cut_easily(evidence: Evidence) -> bool:
    """Return True if the first bytes of a file are its earlier state."""
    return evidence.text.plain and evidence.place.member is None and S3Path.parse(evidence.place.location) is None


def _version(case: Case, derived: Case) -> str:
    """Return why the case may differ without any change to it; empty if this version, with the same patterns, wrote it."""
    by, now = str(case.manifest.get("tool_version", "")), __version__
    if by != now:
        return f"Version {by or 'unknown'} of this program wrote the case, and this is version {now}: differences may come from that."
    if views.outdated(case) == views.OLDER:
        return f"Another edition of version {now} of this program wrote the case: differences may come from that."
    if case.manifest.get("catalogue_hash") != derived.manifest.get("catalogue_hash"):
        return "The case was read with other patterns: differences may come from that. `--parsers DIR` names your own ones."
    return ""


class _Layout:
    """The evidence in a private folder, under the names that it had when it was ingested: links to the files where they are now.

    Args:
        root: the folder.
        folders: folders in which the user says that the evidence is now.
        states: the state of each file that has rows, by path.
    """

    def __init__(self, root: Path, folders: Sequence[Location], states: dict[str, str]) -> None:
        self._root, self._folders, self._states = root, folders, states
        self._places: dict[str, Location] = {}
        self._sources: dict[str, Location] = {}
        self._absent: list[str] = []

    def files(self, known: Sequence[Evidence]) -> Iterator[FileFound]:
        """Yield each file or archive once."""
        roots = {root: str(n) for n, root in enumerate(sorted({e.root for e in known}))}
        for e in known:
            recorded = e.place.location
            if recorded in self._places:
                continue
            path = (e.below or e.path).removesuffix(f"/{shown(e.place.member)}" if e.place.member else "")
            target = self._target(roots[e.root], Path(e.root).name, path)
            try:
                here = source(recorded, is_named=e.is_named, folders=self._folders)
                if isinstance(here, Path) and not here.is_file():
                    raise FileNotFoundError(here)
                mark_of(here)
            except OSError as error:
                if e.status == READ:
                    raise CaseError(f"The evidence `{e.path}` cannot be read.", why=str(error), where=recorded) from error
                self._absent.append(e.path)
                self._places[recorded] = target
                yield FileFound(path, target, 0, e.status if e.status != READ else UNREADABLE, e.note or "")
                continue
            self._sources[recorded] = here
            self._places[recorded] = here if isinstance(here, S3Path) else self._linked(here, target, e)
            yield FileFound(path, self._places[recorded], e.fingerprint.size or 0, seen=mark_of(self._places[recorded]))

    def _target(self, number: str, name: str, path: str) -> Path:
        parts = path.split("/")
        if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
            raise CaseError(
                "The case names a file in an impossible way.", why=repr(path), fix="If you received this case from someone else, it may be malicious."
            )
        target = place_of(str(self._root / number / (name or "root") / path))
        assert isinstance(target, Path)  # noqa: S101 (for the type checker)
        return target

    def _linked(self, here: Path, target: Path, evidence: Evidence) -> Path:
        target.parent.mkdir(parents=True, exist_ok=True)
        if self._states.get(evidence.path) != GROWN:
            target.symlink_to(here)
            return target
        left = evidence.fingerprint.size or 0
        with opened(here) as whole, target.open("xb") as out:
            while left > 0 and (data := whole.read(min(left, 1 << 20))):
                out.write(data)
                left -= len(data)
        shutil.copystat(here, target)
        return target

    def options(self, known: Sequence[Evidence]) -> SourceOptions:
        """Return what the user stated about files when the case was made."""

        def by_glob(stated: Sequence[tuple[Evidence, str | None]]) -> tuple[tuple[str, str], ...]:
            # Members of an archive have one location: their names distinguish them.
            names = [(escape(name), value) for e, value in stated if value and e.place.member for name in (e.below, e.path) if name]
            places = [(escape(written(str(self._places[e.place.location]))), value) for e, value in stated if value and not e.place.member]
            return (*names, *places)

        return SourceOptions(
            by_glob([(e, e.times.zone if e.times.how in ("told", "layout") else None) for e in known]),
            by_glob([(e, e.format.pattern) for e in known]),
            by_glob([(e, e.origin.host if e.origin.is_host_given else None) for e in known]),
        )

    def taken(self, known: Sequence[Evidence], thresholds: dict[str, int]) -> list[str]:
        """Return what the case alone states, in words."""
        files = Counter(
            what
            for e in known
            for what, is_so in (("time zone", e.times.how == "told"), ("layout", bool(e.format.pattern)), ("host", e.origin.is_host_given))
            if is_so
        )
        stated = [f"the {what} of {count(number, 'file')}" for what, number in files.items()]
        stated += [f"the threshold {name} = {value}" for name, value in thresholds.items()]
        if self._absent:
            stated.append(f"{count(len(self._absent), 'file')} without rows that cannot be read here (such as {self._absent[0]})")
        return stated

    def foreign(self, case: Path) -> list[str]:
        """Return the files below the user's folders that the case does not know."""
        known = {os.path.realpath(here) if isinstance(here, Path) else str(here) for here in self._sources.values()}
        found = walk(self._folders, {case}) if self._folders else ()
        return [
            f.path
            for f in found
            if f.status == READ and (os.path.realpath(f.location) if isinstance(f.location, Path) else str(f.location)) not in known
        ]


def section(derived: Derived) -> tuple[str, list[Block], Tone]:
    """Return the result as blocks."""
    if derived.missing:
        named = and_more(derived.missing, _NAMED + 1)
        blocks: list[Block] = [Para(f"Rows can be derived only from all of the evidence as it was ingested. {named} cannot be used; see above.")]
        return "Nothing was derived", blocks, "warn"
    differ = derived.differing
    rows = sum(d.rows[0] or 0 for d in derived.differences)
    blocks = [
        Para(
            f"{count(len(derived.differences), 'view')} and tables of events, with {rows:,} rows, were compared with what this version derives from the logs."
        )
    ]
    if derived.taken:
        blocks.append(Para(f"Not derived, but taken over from the case: {'; '.join(derived.taken)}."))
    if derived.foreign:
        blocks.append(
            Para(f"The case does not know {count(len(derived.foreign), 'file')} below the named folders: {and_more(derived.foreign, _NAMED + 1)}.")
        )
    if not differ:
        return "The evidence gives the rows of the case", blocks, "good"
    if derived.version:
        blocks.append(Para(derived.version))
    blocks.append(comparison.table(differ, ("the case", "the evidence")))
    blocks += [Para(_example(d), label=f"Example in {d.view}") for d in differ if any(d.samples) or any(d.columns)]
    return f"The evidence gives other rows: {', '.join(d.view for d in differ[:_NAMED])}{' and more' if len(differ) > _NAMED else ''}", blocks, "bad"


def _example(difference: comparison.Difference) -> str:
    """Return the columns in which two similar rows differ; or a row that only the case or only the evidence has."""
    for side, columns in zip(("case", "evidence"), difference.columns, strict=True):
        if columns:
            return f"Only the {side} has the columns {and_more(columns, _NAMED + 1)}."
    ours, theirs = ([json.loads(row) for row in rows] for rows in difference.samples)
    pairs = [(a, b, [c for c in sorted({*a, *b}) if a.get(c) != b.get(c)]) for a in ours for b in theirs]
    a, b, columns = min(pairs, key=lambda pair: len(pair[2]), default=({}, {}, []))
    if columns and 2 * len(columns) <= len(a):
        ids = [c for c in a if c.endswith("_id") and c not in columns] or [c for c in a if c not in columns]
        where = ", ".join(f"{c} {a[c]}" for c in ids[:_NAMED])
        return f"{where}: " + "; ".join(f"{c} is {_value(a.get(c))} in the case, {_value(b.get(c))} from the evidence" for c in columns[:_NAMED])
    side, row = ("case", difference.samples[0]) if difference.samples[0] else ("evidence", difference.samples[1])
    return f"Only the {side} has {shorten(row[0], _LONGEST)}"


def _value(value: object) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), _LONGEST)
