"""Show the raw lines behind an event, a finding or an ownership, with context, from the evidence itself, and whether it has changed."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from forensics.case.integrity import rows_in
from forensics.case.named import NotNamedError, source
from forensics.case.seals import is_of_location
from forensics.errors import UsageError
from forensics.evidence.containers import Content, Text, encoding_of, open_content
from forensics.evidence.objects import Location
from forensics.evidence.streams import BLOCK, BROKEN
from forensics.inventory.evidence import LOG
from forensics.records.line_reader import decode
from forensics.redaction import hide_line, scrub
from forensics.report import localize
from forensics.report.document import Document, Heading, Para, Raw, RawLine
from forensics.report.proof import displayed_role
from forensics.snapshots.detection import DOCKER, KUBERNETES
from forensics.snapshots.kubernetes import shown
from forensics.wording.formats import count, iso

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from forensics.report.model import Row
    from forensics.report.stored_rows import CaseLike

#: Maximum number of bytes shown of a line; a record may be a megabyte.
_LONGEST = 4_000
_SHORTEST_ID = 6
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}.*")
_EVENT_COLUMNS = ("event_id", "process_id", "path", "line", "byte_offset", "ts", "event", "file_id", "message")
#: Views whose rows have an ID and witnesses: the view, the column of the ID, the word for a row, the columns of its title.
_WITH_WITNESS = (
    ("incident", "incident_id", "Incident", ("severity", "cause", "headline")),
    ("finding", "finding_id", "Finding", ("severity", "headline")),
    ("occurrence", "occurrence_id", "Occurrence", ("severity", "headline")),
    ("ownership", "ownership_id", "Ownership", ("resource_kind", "resource", "process_id", "start_hi", "stop_lo")),
)


def show(case: CaseLike, wanted: str, context: int, zone: tzinfo = UTC, folders: Sequence[Location] = ()) -> Document:
    """Return the lines behind an ID.

    Args:
        case: the case.
        wanted: ID of an event, incident, finding or ownership, or at least its first six characters.
        context: lines to show before and after each.
        zone: the reader's zone, for the times beside the lines.
        folders: folders in which the user says that the evidence is now.

    Raises:
        UsageError: no row has the ID, or several do.
    """
    _check(wanted)
    out = Document()
    roles = _roles(case, wanted, out, zone)
    ids = list(roles)
    rows = _events(case, "event_id", ids) if ids else _events_by_prefix(case, wanted)
    if not rows and not ids:
        raise UsageError(
            f"The case has no id `{wanted}`.", where="ID", fix="Reports print an ID beside each line and finding; views contain them too."
        )
    missing = set(ids) - {r["event_id"] for r in rows}
    if missing:
        out.add(Para(f"{count(len(missing), 'witness', 'witnesses')} not in the case's tables: {', '.join(sorted(missing))}.", tone="warn"))
    files = {f["file_id"]: f for f in _table(case, "evidence_file").to_pylist()}
    known = {f["location"] for f in case.manifest["files"] if is_of_location(f["location"], f.get("seal"))}
    by_file: dict[str, dict[int, Row]] = {}
    for row in rows:
        by_file.setdefault(row["file_id"], {})[row["line"]] = row
    for file_id, lines in sorted(by_file.items(), key=lambda x: min(str(iso(r["ts"])) for r in x[1].values())):
        _show_file(files[file_id], lines, roles, context, out, zone, lambda place: source(place, is_named=place in known, folders=folders))
    return out


def is_time_or_generation(wanted: str) -> bool:
    """Return True for a time (`07:52:24`) or a generation (`GROUP:13`): lines of several processes, in one order."""
    return ":" in wanted or _DATE.fullmatch(wanted) is not None


def _check(wanted: str) -> None:
    """Check that a text can be an ID.

    Raises:
        UsageError: it cannot.
    """
    if ":" in wanted:
        fix = "A time is written 07:52, 07:52:24 or 2026-11-21T07:52:24; a generation GROUP:13."
        raise UsageError(f"`{wanted}` is not an ID, a time or a generation of this case.", where="ID", fix=fix)
    if len(wanted) < _SHORTEST_ID:
        raise UsageError(f"`{wanted}` is too short for an ID.", where="ID", fix=f"Give at least its first {_SHORTEST_ID} characters.")


def ids_of(case: CaseLike, wanted: str, out: Document, zone: tzinfo = UTC) -> list[str]:
    """Return the events behind an ID: those of a finding, an occurrence or an ownership, or the event itself.

    Raises:
        UsageError: no row has the ID, or several do.
    """
    _check(wanted)
    found = list(_roles(case, wanted, out, zone)) or [r["event_id"] for r in _events_by_prefix(case, wanted)]
    if not found:
        raise UsageError(
            f"The case has no id `{wanted}`.", where="ID", fix="Reports print an ID beside each line and finding; views contain them too."
        )
    return found


def events_dataset(case: CaseLike) -> ds.Dataset:
    """Return the recognised records of a case."""
    return _dataset(case, "event_row")


def _roles(case: CaseLike, wanted: str, out: Document, zone: tzinfo) -> dict[str, str]:
    """Return the event IDs of a finding's or an ownership's witnesses, each with its role; none if the ID is that of an event."""
    import pyarrow.compute as pc

    for view, column, word, titles in _WITH_WITNESS:
        path = case.view_path(view)
        if path is None:
            continue  # the case was ingested with --no-views
        rows = rows_in(path).to_table(filter=pc.starts_with(pc.field(column), wanted)).to_pylist()
        _one_only(wanted, [r[column] for r in rows])
        if rows:
            (row,) = localize.findings(case, rows[:1], zone, {}) if view == "finding" and zone != UTC else rows[:1]
            shown = (f"{row[t]}:" if t == "severity" else row[t] for t in titles)
            title = " ".join(str(iso(v, zone)) if isinstance(v, datetime) else str(v) for v in shown if v is not None)
            out.add(Heading(2, f"{word} {rows[0][column]}: {title}"))
            ids = rows[0]["witness"] or ()
            roles = rows[0].get("witness_role") or ("",) * len(ids)
            return {event_id: role or "" for event_id, role in zip(ids, roles, strict=False)}
    return {}


def _events_by_prefix(case: CaseLike, wanted: str) -> list[Row]:
    import pyarrow.compute as pc

    rows = _pylist(_dataset(case, "event_row"), pc.starts_with(pc.field("event_id"), wanted))
    _one_only(wanted, [r["event_id"] for r in rows])
    return rows


def _events(case: CaseLike, column: str, ids: Iterable[str]) -> list[Row]:
    import pyarrow as pa
    import pyarrow.compute as pc

    return _pylist(_dataset(case, "event_row"), pc.field(column).isin(pa.array(sorted(set(ids)))))


def _pylist(dataset: ds.Dataset, condition: Any) -> list[Row]:  # noqa: ANN401 (an Arrow expression)
    from forensics.report.stored_rows import pylist

    return pylist(dataset.to_table(columns=list(_EVENT_COLUMNS), filter=condition))


def _dataset(case: CaseLike, table: str) -> ds.Dataset:
    import pyarrow.dataset as ds

    return ds.dataset([rows_in(p) for p in case.table_paths(table)])


def _table(case: CaseLike, table: str) -> Any:  # noqa: ANN401 (an Arrow table)
    return _dataset(case, table).to_table()


def _one_only(wanted: str, found: list[str]) -> None:
    if len(set(found)) > 1:
        raise UsageError(
            f"{len(set(found))} ids begin with `{wanted}`.", why=", ".join(sorted(set(found))[:5]), where="ID", fix="Give more characters of it."
        )


def _show_file(
    file: Mapping[str, Any],
    lines: dict[int, Row],
    roles: Mapping[str, str],
    context: int,
    out: Document,
    zone: tzinfo,
    find: Callable[[str], Location],
) -> None:
    """Add one file's lines; problems with the evidence are reported before them."""
    where = file["location"] + (f" ({file['archive_member'].replace('!', ' / ')})" if file["archive_member"] else "")
    out.add(Heading(3, f"{file['path']}  {_dates(lines, zone)}"), Para(where, tone="dim"))
    near = {n for line in lines for n in range(max(1, line - context), line + context + 1)}
    secretive = (file.get("kind") or LOG) != LOG
    try:
        found, digest = _read(find(file["location"]), file["archive_member"], near | {n - 1 for n in near if secretive}, file["bytes"])
    except NotNamedError as e:
        out.add(Para(f"The evidence was not opened: {e}. `--evidence DIR` names the folder that has it.", tone="warn"))
        out.add(Raw(tuple(RawLine(n, f"(event {row['event']} at byte {row['byte_offset']:,})", row["event_id"]) for n, row in sorted(lines.items()))))
        return
    except BROKEN as e:
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        out.add(
            Para(
                f"The evidence can no longer be read: {why}. To see its lines, restore it, name its folder with `--evidence DIR`, or ingest it again.",
                tone="bad",
            )
        )
        out.add(Raw(tuple(RawLine(n, f"(event {row['event']} at byte {row['byte_offset']:,})", row["event_id"]) for n, row in sorted(lines.items()))))
        return
    if digest != file["sha256"]:
        text = (
            f"The evidence has changed since it was ingested (SHA-256 {digest[:16]}…, was {file['sha256'][:16]}…): these lines may be different ones."
        )
        out.add(Para(text, tone="bad"))
    raw = []
    for number in sorted(near & found.keys() | lines.keys()):
        row = lines.get(number)
        line = found.get(number, "(this line no longer exists)")
        line = _without_secrets(line, found.get(number - 1, ""), file["kind"]) if secretive else scrub(line)
        role = displayed_role(roles.get(row["event_id"], ""), row["message"] or "") if row else ""
        raw.append(RawLine(number, line, row["event_id"] if row else "", role))
    out.add(Raw(tuple(raw)))


def _without_secrets(line: str, before: str, kind: str) -> str:
    """Return a line of other evidence without secrets; the next line of a continued property lacks the key, so it is hidden."""
    if kind in (KUBERNETES, DOCKER):
        return shown(line)
    before = before.rstrip("\r\n")
    if kind == "properties" and (len(before) - len(before.rstrip("\\"))) % 2:
        return "(continued value; not shown)"
    return hide_line(line)


def _dates(lines: dict[int, Row], zone: tzinfo) -> str:
    times = sorted(r["ts"] for r in lines.values() if r["ts"])
    return " to ".join(dict.fromkeys(str(iso(t, zone)) for t in (times[0], times[-1]))) if times else ""


def _read(location: Location, member: str | None, wanted: set[int], size: int) -> tuple[dict[int, str], str]:
    """Return some lines of a content, by number, and the hash of its first `size` bytes, because a log may have grown since.

    Raises:
        OSError and others of `BROKEN`: the content cannot be read.
    """
    lines: dict[int, str] = {}
    last = max(wanted, default=0)
    with open_content(location, member) as content:
        stream = _Hashed(content, size)
        buffered = io.BufferedReader(stream, BLOCK)
        for number, line in enumerate(buffered, 1):
            if number in wanted:
                lines[number] = _shown(line)
            if number >= last:
                break
        while buffered.read(BLOCK):
            pass
        if content.error and not lines:
            raise OSError(content.error)
    return lines, stream.whole.hexdigest()


def first_lines(location: Location, member: str | None, size: int) -> list[str]:
    """Return the lines of a short content.

    Raises:
        OSError and others of `BROKEN`: the content cannot be read.
    """
    lines, _ = _read(location, member, set(range(1, size + 2)), size)
    return [text.rstrip("\r\n") for _, text in sorted(lines.items())]


class _Hashed(io.RawIOBase):
    """The first bytes of a content as UTF-8, hashed while they are read."""

    def __init__(self, content: Content, size: int) -> None:
        self._content, self._left, self._ahead = content, size, b""
        self._text: Text | None = None
        self.whole = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 (any writable buffer)
        while not self._ahead and self._left > 0 and (data := self._content.read(min(BLOCK, self._left))):
            self.whole.update(data)
            self._left -= len(data)
            self._text = self._text or Text(self._content, encoding_of(data))
            self._ahead = self._text.recode(data)
        given, self._ahead = self._ahead[: len(buffer)], self._ahead[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)


def _shown(line: bytes) -> str:
    text = decode(line[:_LONGEST])
    return text + (f" … ({len(line):,} bytes)" if len(line) > _LONGEST else "")
