"""Define names, types and meanings of table columns. Standard columns are defined only here, captures only in `parsers/fields.toml`.

A *record* is one log record (its first line and the lines that continue it). Recognised records are rows of `event_row`, other records of relevant
loggers rows of `unrecognised_row`; records without a fact are rows of `counted_row`, with position and time only. `range_row` has the counts of a
byte range; `evidence_file` has a row for each file.
range; `evidence_file` has a row for each file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from forensics.errors import CatalogueError
from forensics.resources import parsers_dir

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

TIMESTAMP = pa.timestamp("us", tz="UTC")
STRINGS = pa.list_(pa.string())

#: Types of captures, and the type of their column. `assignment_bytes` has none, because it is decoded into other captures.
CAPTURE_TYPES: Mapping[str, pa.DataType | None] = {
    "string": pa.string(),
    "int": pa.int64(),
    "double": pa.float64(),
    "list": STRINGS,
    "partitions": STRINGS,
    "tasks": STRINGS,
    "map": pa.map_(pa.string(), STRINGS),
    "config": pa.map_(pa.string(), pa.string()),
    "offsets": pa.map_(pa.string(), pa.int64()),
    "address": pa.string(),
    "threads": pa.map_(pa.string(), STRINGS),
    "assignment_bytes": None,
}


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, Arrow type and meaning (the view's comment)."""

    name: str
    type: pa.DataType
    meaning: str


@dataclass(frozen=True)
class Field:
    """One entry of a `fields.toml`: a name for captures of patterns.

    Attributes:
        name: the capture's and the column's name.
        type: a key of `CAPTURE_TYPES`.
        meaning: the column's comment.
        where: `file:line` of the entry.
        names: kind of name that its value is (`group`, `host`, ...); empty if not specified.
        telling: True if it identifies the process or client, or an error; a record that has it is never only counted.
    """

    name: str
    type: str
    meaning: str
    where: str = ""
    names: str = ""
    telling: bool = False


ENVELOPE: tuple[Column, ...] = (
    Column(
        "event_id",
        pa.string(),
        "24 hex digits computed from the file's content, the byte offset and the record's bytes; the same line has the same ID in every case",
    ),
    Column("file_id", pa.string(), "First 24 hex digits of the SHA-256 of the uncompressed file"),
    Column(
        "process_id",
        pa.string(),
        "Log stream: path below the ingested folder without rotation suffix, with short ids of containers; in merged files followed by # and the source's name",
    ),
    Column("path", pa.string(), "Path of the file below the ingested folder"),
    Column("line", pa.int64(), "Line number of the record's first line, from 1"),
    Column("byte_offset", pa.int64(), "Offset of the record's first byte in the uncompressed file"),
    Column("stream_pos", pa.int64(), "Order within the process, across rotated files"),
    Column("ts", TIMESTAMP, "Time by the writer's own clock, UTC; NULL if the layout has none"),
    Column("resolution_ms", pa.int32(), "Resolution of ts in milliseconds: 1 for millis, 1000 for seconds"),
    Column("collector_ts", TIMESTAMP, "Time of a collector's wrapper (docker, CRI, journald), UTC; the record is not later than this"),
    Column("level", pa.string(), "Level as printed"),
    Column("thread", pa.string(), "Thread as printed"),
    Column("logger", pa.string(), "Logger as printed"),
    Column("source_line", pa.int32(), "Line of Kafka's source code that printed the record (%L)"),
    Column(
        "releases",
        pa.string(),
        "Kafka releases that can have printed the record, judged by the source line or the wording; ranges separated by blanks",
    ),
    Column("context", pa.string(), "Connect's connector.context as printed, for example b|task-1"),
    Column("event", pa.string(), "What happened; never NULL, because other records are rows of the view unrecognised"),
    Column("category", pa.string(), "Subject of the event"),
    Column("message", pa.string(), "First line of the message without context prefixes, at most 2,000 characters"),
)

UNRECOGNISED: tuple[Column, ...] = (
    *(c for c in ENVELOPE if c.name in {"process_id", "path", "line", "byte_offset", "stream_pos", "ts", "level", "logger"}),
    Column("text", pa.string(), "The record, at most 2,000 characters"),
)

#: Columns with position and time of a record: nothing else is kept of a record without a fact.
COUNTED: tuple[Column, ...] = tuple(
    c
    for c in ENVELOPE
    if c.name in {"process_id", "path", "line", "byte_offset", "stream_pos", "ts", "resolution_ms", "level", "logger", "releases", "event"}
)

RANGE: tuple[Column, ...] = (
    Column("file_id", pa.string(), "First 24 hex digits of the SHA-256 of the uncompressed file"),
    Column("path", pa.string(), "Path of the file below the ingested folder"),
    Column("process_id", pa.string(), "Log stream"),
    Column("range_start", pa.int64(), "First byte of the range in the uncompressed file"),
    Column("range_end", pa.int64(), "First byte after the range"),
    Column("lines", pa.int64(), "Lines that begin in the range"),
    Column("records", pa.int64(), "Records that begin in the range"),
    Column("events", pa.int64(), "Records that match a pattern"),
    Column("counted", pa.int64(), "Of these, records without a fact, which are only counted"),
    Column("unrecognised", pa.int64(), "Records of relevant loggers that match no pattern"),
    Column("unfit", pa.int64(), "Lines that belong to no record, because no layout fits"),
    Column("unfit_line", pa.int64(), "Line number of the first of them"),
    Column("unfit_text", pa.string(), "Text of the first of them, at most 2,000 characters"),
    Column(
        "lost",
        pa.list_(
            pa.struct(
                [(name, pa.int64()) for name in ("from_byte", "to_byte", "from_line", "to_line", "from_pos", "to_pos")] + [("why", pa.string())]
            )
        ),
        "Ranges in which what was printed is lost: bytes, lines, positions in the process, and why: zero_bytes, no_text, unread (a fault of a packed file) or cut_end (it ends in a record)",
    ),
    Column("layouts", pa.map_(pa.string(), pa.int64()), "Records by layout"),
    Column("first_ts", TIMESTAMP, "Earliest time in the range"),
    Column("last_ts", TIMESTAMP, "Latest time in the range"),
    Column("gaps", pa.list_(pa.struct([("from_ts", TIMESTAMP), ("to_ts", TIMESTAMP)])), "Silences of more than 30 s between consecutive records"),
    Column(
        "shift_ms",
        pa.int64(),
        "Added to the printed times from here on, because time jumps, or another log or an older part of this one begins here; or added to a few wrong times; NULL: none",
    ),
    Column(
        "shift_why",
        pa.string(),
        "Reason for the jump: daylight_saving, time_zone, midnight, other_log, earlier_part, repeated, doubled (lines appear twice), unordered (lines are not in the order of their times) or wrong_time",
    ),
    Column(
        "shift_ids",
        pa.list_(pa.string()),
        "Events of the two lines before that place and the two after it; for doubled lines, the first and the last",
    ),
    Column("repeats", pa.int64(), "Records that are left out because they repeat the one before; NULL: none"),
)

EVIDENCE_FILE: tuple[Column, ...] = (
    Column("file_id", pa.string(), "First 24 hex digits of the SHA-256 of the uncompressed file"),
    Column("sha256", pa.string(), "SHA-256 of the uncompressed file"),
    Column("path", pa.string(), "Path below the ingested folder"),
    Column("location", pa.string(), "Absolute path of the file, or of the archive that contains it"),
    Column("archive_member", pa.string(), "Name inside the archive"),
    Column("bytes", pa.int64(), "Size of the uncompressed file"),
    Column("lines", pa.int64(), "Lines of the file"),
    Column("process_id", pa.string(), "Log stream"),
    Column("host", pa.string(), "Host, if given by the user or by the path"),
    Column("time_zone", pa.string(), "IANA zone or offset that was used for times without a zone"),
    Column(
        "time_zone_how",
        pa.string(),
        "told (by the user), layout, collector (its times next to the printed ones show it), gc_log (GC lines in it, or a GC log in its folder, show it) or assumed",
    ),
    Column(
        "time_by",
        pa.string(),
        "Source of the times: log; collector, if lines have none; log_no_year and collector_no_year, if these have no year, or no date at all",
    ),
    Column("ordinal", pa.int64(), "Position among the rotated files of the process, oldest first"),
    Column("status", pa.string(), "read, unreadable, skipped or superseded"),
    Column("note", pa.string(), "Why it was not read, or which part was not"),
    Column("filtered", pa.string(), "Evidence that its lines are a selection, such as grep's: separators, line_numbers or values; NULL: no evidence"),
    Column("literal", pa.string(), "A word that all lines of such a selection contain"),
    Column(
        "kind",
        pa.string(),
        "log, or the kind of second witness: topics_described, groups_described, offsets_dump, connect_topic, connect_rest, properties, gc_log, kubernetes, docker, host_log, collected, jvm_crash, ecs, transactions_described, transaction_log, log_segments, thread_dump",
    ),
)


def load_fields(folders: Iterable[Traversable | Path] = ()) -> dict[str, Field]:
    """Read the packaged `fields.toml` and those of further folders.

    Args:
        folders: folders that may contain their own `fields.toml`; its entries are added to the packaged ones.

    Returns:
        The entries by name, in the order of the files.

    Raises:
        CatalogueError: a file is not valid TOML, an entry lacks its type or meaning, has an unknown type, or contradicts an earlier one.
    """
    fields: dict[str, Field] = {}
    for folder in (parsers_dir(), *folders):
        file = folder / "fields.toml"
        if not file.is_file():
            continue
        for field in parse_fields(file.read_text(encoding="utf-8"), str(file)):
            known = fields.setdefault(field.name, field)
            if known.type != field.type:
                raise CatalogueError(
                    f"The capture `{field.name}` has two types.",
                    why=f"it is {known.type} in {known.where}, and {field.type} here",
                    where=field.where,
                    fix="Use the existing type, or another name.",
                )
    taken = {c.name for c in ENVELOPE} & fields.keys()
    for name in taken:
        raise CatalogueError(f"The capture `{name}` has the name of a standard column.", where=fields[name].where, fix="Use another name.")
    return fields


def parse_fields(text: str, file: str) -> list[Field]:
    """Return the entries of one `fields.toml`; `file` is its name in errors."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise CatalogueError("A file of captures is not valid TOML.", why=str(e), where=file) from e
    lines = text.split("\n")
    fields = []
    for name, entry in table.items():
        number = next((i for i, line in enumerate(lines, 1) if line.strip() == f"[{name}]"), 1)
        where = f"{file}:{number}"
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str) or not isinstance(entry.get("meaning"), str):
            raise CatalogueError(
                f"The capture `{name}` needs a type and a meaning.", where=where, fix='Write `type = "string"` and `meaning = "..."`.'
            )
        if entry["type"] not in CAPTURE_TYPES:
            raise CatalogueError(
                f"The capture `{name}` has the unknown type `{entry['type']}`.", where=where, fix=f"Use one of {', '.join(CAPTURE_TYPES)}."
            )
        fields.append(Field(name, entry["type"], entry["meaning"], where, str(entry.get("names", "")), entry.get("telling") is True))
    return fields


@cache
def packaged_fields() -> tuple[Field, ...]:
    """Return the entries of the packaged `fields.toml`."""
    return tuple(load_fields().values())


def capture_columns(fields: Iterable[Field] | None = None) -> tuple[Column, ...]:
    """Return one column for each capture that is stored as a column."""
    columns = []
    for field in packaged_fields() if fields is None else fields:
        arrow = CAPTURE_TYPES[field.type]
        if arrow is not None:
            columns.append(Column(field.name, arrow, field.meaning))
    return tuple(columns)


def table_columns(table: str, fields: Iterable[Field] | None = None) -> tuple[Column, ...]:
    """Return the columns of a table, in order.

    Args:
        table: one of `TABLES`.
        fields: captures, if a user's own pattern files add some.
    """
    if table == "event_row":
        return ENVELOPE + capture_columns(fields)
    return {"unrecognised_row": UNRECOGNISED, "counted_row": COUNTED, "range_row": RANGE, "evidence_file": EVIDENCE_FILE}[table]


def table_schema(table: str, fields: Iterable[Field] | None = None) -> pa.Schema:
    """Return the Arrow schema of a table; the metadata `comment` of each field is its meaning."""
    return pa.schema([pa.field(c.name, c.type, metadata={"comment": c.meaning}) for c in table_columns(table, fields)])


#: Names of the tables that ingest writes.
TABLES: tuple[str, ...] = ("event_row", "unrecognised_row", "counted_row", "range_row", "evidence_file")
