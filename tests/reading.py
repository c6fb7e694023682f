# SPDX-License-Identifier: Apache-2.0
"""Files to rows as an ingest reads them, but without Spark: the same evidence, the same splits, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from forensics.catalogue.patterns import load
from forensics.catalogue.recogniser import Recogniser
from forensics.extract.reading import RangeRow, Tools, read_splits
from forensics.extract.row_builder import COUNTED, EVENTS, UNRECOGNISED, Schemas
from forensics.extract.splits import RANGE_BYTES, plan
from forensics.inventory.evidence import READ, Evidence
from forensics.inventory.inventory import find_evidence
from forensics.inventory.source_options import SourceOptions

#: Columns with the place of a record, not with its content.
PLACE = ("event_id", "file_id", "process_id", "path", "line", "byte_offset", "stream_pos")


@dataclass
class Reading:
    """The rows of some files.

    Attributes:
        evidence: the files.
        events, unrecognised, counted: rows, in the order of their streams, without empty captures.
        ranges: rows of `range_row`.
        faults: path and text of what could not be read.
        doubled: number of events that were left out as copies.
    """

    evidence: list[Evidence]
    events: list[dict[str, Any]] = field(default_factory=list)
    unrecognised: list[dict[str, Any]] = field(default_factory=list)
    counted: list[dict[str, Any]] = field(default_factory=list)
    ranges: list[dict[str, Any]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    doubled: int = 0

    def total(self, name: str) -> int:
        """A count over all ranges."""
        return sum(r[name] for r in self.ranges)

    def named(self, *events: str) -> list[dict[str, Any]]:
        """Rows of some events."""
        return [e for e in self.events if e["event"] in events]


@cache
def recogniser(*, keep_all: bool = False) -> Recogniser:
    """The shipped catalogue's."""
    return Recogniser(load(keep_all=keep_all))


@cache
def _schemas() -> Schemas:
    return Schemas.of(recogniser().catalogue.fields.values())


def read(paths: Sequence[Path], options: SourceOptions | None = None, range_bytes: int = RANGE_BYTES, *, broken: bool = False) -> Reading:
    """Read files and folders; faults are errors of the test unless it expects something `broken`."""
    return read_evidence(find_evidence(paths, options=options), range_bytes, broken=broken)


def read_evidence(evidence: list[Evidence], range_bytes: int = RANGE_BYTES, *, broken: bool = False, keep_all: bool = False) -> Reading:
    """Read files that were examined."""
    reading, tools = Reading(evidence), Tools(recogniser(keep_all=keep_all), _schemas())
    for splits in plan([e for e in reading.evidence if e.status == READ], range_bytes):
        for part in read_splits(splits, tools):
            if isinstance(part, RangeRow):
                assert broken or not part.error, part.error
                if part.error:
                    reading.faults.append((part.row["path"], part.error))
                reading.ranges.append(dict(part.row))
                reading.doubled += sum(doubled.records for doubled in part.doubled)
            else:
                rows = {EVENTS: reading.events, UNRECOGNISED: reading.unrecognised, COUNTED: reading.counted}[part.table]
                rows.extend(facts(r) for r in part.batch.to_pylist())
    for rows in (reading.events, reading.unrecognised, reading.counted):
        rows.sort(key=lambda r: (r.get("process_id", ""), r["stream_pos"]))
    return reading


def facts(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its empty cells."""
    return {k: v for k, v in row.items() if v is not None}
