"""Evidence into a case: looks at the files while Spark starts, reads them in one job, and publishes what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.dataset as ds

from forensics import __version__
from forensics.errors import UsageError
from forensics.evidence import READ, SKIPPED, SUPERSEDED, UNREADABLE, Evidence, Told, find_evidence
from forensics.patterns import load
from forensics.pieces import RANGE_BYTES, plan
from forensics.session import session
from forensics.source import NAME, EvidenceSource, job_option, range_rows
from forensics.tables import Case, CaseWriter, files_to_drop, writing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forensics.patterns import Catalogue

_WATCH_SECONDS = 0.3
Progress = Callable[[str, int, int], None]


@dataclass
class FileRead:
    """What an ingest found in one file.

    Attributes:
        records: its records by layout.
        unfit: lines that belong to no record.
        first_unfit: number and text of the first of them.
    """

    records: Counter[str] = field(default_factory=Counter)
    unfit: int = 0
    first_unfit: tuple[int, str] | None = None


@dataclass
class Summary:
    """What an ingest did.

    Attributes:
        case: the case as it is now.
        evidence: all of its files.
        added: those that were read now.
        counts: records, events, unrecognised, unfit and lines of the whole case.
        faults: path and reason of what could not be read, or not to its end.
        read: what was found in each file that was read, by its path.
        assumed_zones: paths whose times were read as UTC though nothing says so.
    """

    case: Case
    evidence: list[Evidence]
    added: list[Evidence] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    faults: list[tuple[str, str]] = field(default_factory=list)
    read: dict[str, FileRead] = field(default_factory=dict)
    assumed_zones: list[str] = field(default_factory=list)

    def files(self, status: str) -> list[Evidence]:
        """Files of one status."""
        return [e for e in self.evidence if e.status == status]


def ingest(
    paths: Sequence[Path],
    case_dir: Path,
    *,
    told: Told | None = None,
    parsers: Sequence[Path] = (),
    master: str = "",
    jobs: int | None = None,
    command_line: Sequence[str] = (),
    range_bytes: int = RANGE_BYTES,
    progress: Progress = lambda step, done, total: None,
) -> Summary:
    """Reads evidence into a case; what the case has by content is not read again.

    Args:
        paths: files, folders and archives.
        case_dir: the case's folder; made when it does not exist.
        told: zones, layouts and hosts as the user told them.
        parsers: folders of the user's own pattern files.
        master: URL of a Spark master; empty for this machine.
        jobs: cores to use on this machine; all when None.
        command_line: kept in the manifest.
        range_bytes: size of the ranges that large files are cut in.
        progress: told a step (`looking`, `reading`, `writing`), what of it is done, and all of it.

    Raises:
        UsageError: a path does not exist.
        CatalogueError: a pattern file has a wrong form.
        CaseError: the case cannot be written.
        ForensicsError: Spark does not start.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"There is no file or folder `{path}`.", where=str(path))
    catalogue = load(parsers)
    with writing(case_dir) as writer, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(session, master, jobs)
        found = find_evidence(
            paths, told=told, known=writer.known(), exclude=[writer.root], again=_knows_otherwise(writer, catalogue),
            progress=lambda done, total: progress("looking", done, total),
        )  # fmt: skip
        spark = starting.result()
        fresh = [e for e in found if e.status == READ]
        faults: list[tuple[str, str]] = []
        if fresh:
            progress("reading", 0, 1)
            staged = writer.staging / "rows"
            written = _read(spark, fresh, catalogue, staged, range_bytes, progress)
            progress("writing", 0, 1)
            ranges = range_rows(written)
            faults = [(str(r["path"]), str(r["error"])) for r in ranges if r["error"]]
            writer.add(staged, [(table, name) for table, name, _ in written], ranges, catalogue.fields.values())
        writer.drop(files_to_drop(writer.case, found))
        evidence = _merged(writer, found, dict(faults))
        case = writer.publish(evidence, _facts(writer, catalogue, command_line))
    return _summary(case, evidence, fresh, faults)


def _knows_otherwise(writer: CaseWriter, catalogue: Catalogue) -> bool:
    """Whether the case was made with other patterns."""
    return writer.case is not None and writer.case.manifest.get("catalogue_hash") != catalogue.hash


def _read(
    spark: SparkSession, evidence: Sequence[Evidence], catalogue: Catalogue, target: Path, range_bytes: int, progress: Progress
) -> list[tuple[str, str, int]]:
    """One Spark job: its tasks write the rows, and say what they wrote."""
    spark.dataSource.register(EvidenceSource)
    tasks = plan(evidence, range_bytes, spark.sparkContext.defaultParallelism)
    rows = spark.read.format(NAME).option("job", job_option(tasks, catalogue, target)).load()
    with ThreadPoolExecutor(1) as pool:
        collected = pool.submit(rows.collect)
        while not wait([collected], timeout=_WATCH_SECONDS).done:
            stages = [spark.sparkContext.statusTracker().getStageInfo(i) for i in spark.sparkContext.statusTracker().getActiveStageIds()]
            progress("reading", sum(s.numCompletedTasks for s in stages if s), len(tasks))
        return [(row[0], row[1], row[2]) for row in collected.result()]


def _merged(writer: CaseWriter, found: Sequence[Evidence], faults: dict[str, str]) -> list[Evidence]:
    """Rows of `evidence_file`: those of the case, and the new ones in the place of old ones."""
    new = {(e.location, e.archive_member): e for e in found if e.status != SUPERSEDED}
    gone = {(e.sha256, e.location, e.archive_member): e for e in found if e.status == SUPERSEDED}
    merged: list[Evidence] = []
    for k in writer.known():
        key = (k.location, k.archive_member)
        older = gone.get((k.sha256, *key))
        if older is not None:
            if key not in new or new[key].sha256 != k.sha256:
                merged.append(replace(older, path=f"{k.path}@{(k.sha256 or '')[:8]}"))
        elif key in new and new[key].status == SKIPPED and new[key].sha256 == k.sha256:
            merged.append(k)  # the same file once more
            del new[key]
        elif key not in new:
            merged.append(k)
    for e in new.values():
        if e.status == READ:
            fault = faults.get(e.path)
            e = replace(e, segment=writer.segment, note=f"read up to a fault: {fault}" if fault else e.note)
        merged.append(e)
    return sorted(merged, key=lambda e: (e.path, e.location))


def _facts(writer: CaseWriter, catalogue: Catalogue, command_line: Sequence[str]) -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    earlier = writer.case.manifest if writer.case else {}
    return {
        "tool_version": __version__, "catalogue_hash": catalogue.hash, "command_line": list(command_line),
        "created": earlier.get("created", now), "updated": now, "knobs": earlier.get("knobs", {}),
    }  # fmt: skip


def _summary(case: Case, evidence: list[Evidence], fresh: list[Evidence], faults: list[tuple[str, str]]) -> Summary:
    ranges = ds.dataset(case.table_paths("range_row")[0], format="parquet") if len(case.table_paths("range_row")) == 1 else ds.dataset(
        [ds.dataset(p, format="parquet") for p in case.table_paths("range_row")]
    )  # fmt: skip
    columns = ["path", "range_start", "lines", "records", "events", "unrecognised", "unfit", "unfit_line", "unfit_text", "layouts"]
    table = ranges.to_table(columns=columns).sort_by([("path", "ascending"), ("range_start", "ascending")])
    counts = {name: pc.sum(table.column(name)).as_py() or 0 for name in ("lines", "records", "events", "unrecognised", "unfit")}
    read: dict[str, FileRead] = {}
    for row in table.to_pylist():
        file = read.setdefault(row["path"], FileRead())
        file.records.update(dict(row["layouts"]))
        file.unfit += row["unfit"]
        if row["unfit"] and file.first_unfit is None:
            file.first_unfit = row["unfit_line"], row["unfit_text"]
    broken = [(e.path, e.note or "") for e in evidence if e.status == UNREADABLE or (e.note or "").startswith("read up to a fault")]
    return Summary(
        case, evidence, fresh, counts, sorted({*broken, *faults}), read,
        [e.path for e in evidence if e.status == READ and e.time_zone_how == "assumed" and e.first is not None],
    )  # fmt: skip
