"""Read evidence into a case: examine and read the files while the engine starts, then publish the rows and views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.dataset as ds

from forensics import __version__
from forensics.case.folder import Case, CaseWriter, files_to_drop, publish, writing
from forensics.case.integrity import rows_in
from forensics.catalogue.patterns import load
from forensics.errors import UsageError
from forensics.evidence.containers import place_of
from forensics.evidence.objects import Location, S3Path, settings
from forensics.extract.local_reading import range_rows
from forensics.extract.reading_processes import Readers
from forensics.extract.repairs import separate
from forensics.extract.row_builder import COUNTED, EVENTS, UNRECOGNISED
from forensics.extract.splits import RANGE_BYTES, plan
from forensics.failures import explained
from forensics.inventory.evidence import CHANGED, READ, SKIPPED, SUPERSEDED, Evidence
from forensics.inventory.inventory import find_evidence
from forensics.inventory.names import earlier, renamed, with_hosts
from forensics.inventory.same_content import changed_since, gone, grown
from forensics.inventory.source_options import SourceOptions
from forensics.records.layouts import packaged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forensics.catalogue.patterns import Catalogue
    from forensics.engines.base import Engine
    from forensics.extract.reading_processes import Written
    from forensics.inventory.walk import FileFound

_WATCH_SECONDS = 0.3
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Options:
    """How evidence is read into a case.

    Attributes:
        sources: time zones, layouts and hosts that the user specified.
        parsers: folders of the user's own pattern files.
        keep_all: keep records without facts as rows of `event` instead of only counting them. The case remembers this setting.
        command_line: the command line to record in the manifest.
        range_bytes: size of the ranges into which large files are split.
    """

    sources: SourceOptions = field(default_factory=SourceOptions)
    parsers: tuple[Path, ...] = ()
    keep_all: bool = False
    command_line: tuple[str, ...] = ()
    range_bytes: int = RANGE_BYTES


@dataclass
class FileRead:
    """The result of reading one file.

    Attributes:
        records: number of records by layout.
        unnamed: number of records whose layout omits the logger that their writer has; only of files read in this run.
        unfit: number of lines that belong to no record.
        first_unfit: number and text of the first such line.
    """

    records: Counter[str] = field(default_factory=Counter)
    unnamed: int = 0
    unfit: int = 0
    first_unfit: tuple[int, str] | None = None


@dataclass
class Summary:
    """The result of an ingest.

    Attributes:
        case: the case after the ingest.
        evidence: all of its files.
        added: the files read in this run.
        grown: logs that have grown since they were last read: the earlier path and the present one.
        gone: paths of files that are missing or changed, although their folder was examined; their rows are kept.
        counts: lines, records, events, counted and unrecognised records, and unfit lines of the whole case, copies included. A counted record is not an event.
        copies: process and note of each log that is excluded as a copy of another log; empty if the case has no views yet.
        faults: path and reason of each file that could not be read completely.
        read: the result of each file that was read, by path.
        assumed_zones: paths of files without a time zone, whose times were read as UTC.
    """

    case: Case
    evidence: list[Evidence]
    added: list[Evidence] = field(default_factory=list)
    grown: list[tuple[str, str]] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    copies: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    read: dict[str, FileRead] = field(default_factory=dict)
    assumed_zones: list[str] = field(default_factory=list)

    def files(self, status: str) -> list[Evidence]:
        """Return the files that have a status."""
        return [e for e in self.evidence if e.status == status]


def ingest(
    paths: Sequence[Location],
    case_dir: Path,
    options: Options | None = None,
    *,
    files: Sequence[FileFound] | None = None,
    engine: Engine | None = None,
    jobs: int | None = None,
    readers: Readers | None = None,
    progress: Progress = lambda step, done, total: None,
    views: Callable[[Case], tuple[Case, Mapping[str, str] | None]] | None = None,
) -> Summary:
    """Read evidence into a case. Files whose content is already in the case are not read again.

    Args:
        paths: files, folders and archives, local or in an object store.
        case_dir: the case's folder, created if it does not exist, or the URL of a case in S3.
        options: how evidence is read; None: without anything that the user specified.
        files: the files to read, if they have been found already; None: those below `paths`.
        engine: the engine for the views. It starts while evidence is read, or for a new case while evidence is examined. With a master, its executors
            read the evidence. None: no engine is needed.
        jobs: number of cores that read on this machine; None: all.
        readers: reading processes that may have started already; None: they are started here.
        progress: called with a step (`looking`, `reading`, both in bytes, `reading on executors`, `writing`), the amount done, and the total.
        views: builds the views of the case and their SQL before it is published, so that rows and views are published together. It also gets a
            case in which no row changed, with its present views. None: the case has no views yet.

    Raises:
        UsageError: a path does not exist.
        CatalogueError: a pattern file is invalid.
        CaseError: the case cannot be written.
        ForensicsError: an object store refuses to list its objects, the engine does not start, or a reading process has died.
    """
    for path in paths:
        if isinstance(path, Path) and not path.exists():
            raise UsageError(f"There is no file or folder `{path}`.", where=str(path))
    options = options or Options()
    catalogue = load(options.parsers, keep_all=options.keep_all)
    with writing(case_dir) as writer, ThreadPoolExecutor(1) as pool, ExitStack() as open_until_the_end:
        if writer.case is not None and writer.case.manifest.get("keep_all") and not options.keep_all:
            options = replace(options, keep_all=True)
            catalogue = load(options.parsers, keep_all=True)
        far = writer.remote if engine and engine.is_far else None
        if engine:
            engine.elsewhere = far
        staged = writer.staging / "rows"
        readers = readers or open_until_the_end.enter_context(Readers(jobs))
        readers.send_catalogue(catalogue, staged)
        starting = [pool.submit(lambda: engine and engine.session)] if writer.case is None else []
        found = find_evidence(
            paths, files=files, options=options.sources, known=writer.known(), exclude=[writer.root, *([writer.remote.url] if writer.remote else ())], again=_knows_otherwise(writer, catalogue),
            elsewhere=lambda files, options: None if engine and engine.master else readers.examine(files, options), progress=lambda done, total: progress("looking", done, total),
        )  # fmt: skip
        fresh = [e for e in found if e.status == READ]
        if fresh and not starting:
            starting.append(pool.submit(lambda: engine and engine.session))
        for start in starting:
            if start.done():
                start.result()  # report an engine that does not start before reading everything
        faults: dict[str, list[str]] = {}
        if fresh:
            progress("reading", 0, 1)
            if engine and engine.master:
                target = far.staging() if far else staged
                written = _read_on_executors(engine.session, fresh, catalogue, target, options.range_bytes, progress)
                if isinstance(target, S3Path) and far:
                    far.fetch_from(target, [name for table, name, _ in written if table != "range_row"], staged)
            else:
                written = readers.read(plan(fresh, options.range_bytes, readers.most), lambda done, total: progress("reading", done, total))
            progress("writing", 0, 1)
            zoned = frozenset(e.origin.process_id or e.path for e in fresh if e.times.how == "layout")
            events, counted, others = (_named(written, table) for table in (EVENTS, COUNTED, UNRECOGNISED))
            newest_first = [e.path for e in fresh if e.format.profile.newest_first]
            undated = frozenset(e.path for e in fresh if e.format.profile.dateless)
            ranges = separate(staged, events, counted, others, range_rows(written), zoned, newest_first, undated)
            for r in ranges:
                mine = faults.setdefault(str(r["path"]), [])
                mine.extend({str(r["error"])} - {"", *mine})
            for e in changed_since(fresh):
                faults.setdefault(e.path, []).append(CHANGED)
            writer.add(staged, [(table, name) for table, name, _ in written], ranges, catalogue.fields.values())
        writer.drop(files_to_drop(writer.case, found))
        known = renamed(writer.known(), found, paths)
        writer.rename(zip(writer.known(), known, strict=True))
        evidence = _merged(known, found, faults, writer.segment)
        case, texts = writer.finish(evidence, _facts(writer, catalogue, options)), None
        if views is not None:
            for start in starting:
                start.result()
            if far:
                far.upload(case.manifest["contents"])
            case, texts = views(case)
        case = publish(case, texts)
    return replace(_summary(case, evidence, fresh), grown=grown(found), gone=gone(known, found, paths))


def _knows_otherwise(writer: CaseWriter, catalogue: Catalogue) -> bool:
    """Return True if the case was created with other patterns or keeps other records."""
    return writer.case is not None and writer.case.manifest.get("catalogue_hash") != catalogue.hash


def _read_on_executors(
    spark: SparkSession, evidence: Sequence[Evidence], catalogue: Catalogue, target: Location, range_bytes: int, progress: Progress
) -> list[Written]:
    """Read evidence in one Spark job, whose tasks write the rows; return the table, name and rows of each written file."""
    from forensics.extract.spark_source import NAME, EvidenceSource, job_option

    if any(isinstance(where, S3Path) for where in (target, *(place_of(e.place.location) for e in evidence))):
        # As Spark does for its own readers: pass this machine's credentials to executors that have none of their own.
        spark.sparkContext.environment.update(settings())
    spark.dataSource.register(EvidenceSource)
    tasks = plan(evidence, range_bytes, spark.sparkContext.defaultParallelism)
    rows = spark.read.format(NAME).option("job", job_option(tasks, catalogue, target)).load()
    with ThreadPoolExecutor(1) as pool:
        collected = pool.submit(rows.collect)
        while not wait([collected], timeout=_WATCH_SECONDS).done:
            stages = [spark.sparkContext.statusTracker().getStageInfo(i) for i in spark.sparkContext.statusTracker().getActiveStageIds()]
            progress("reading on executors", sum(s.numCompletedTasks for s in stages if s), len(tasks))
        try:
            return [(row[0], row[1], row[2]) for row in collected.result()]
        except Exception as e:  # Spark's errors have no common base that pyspark promises
            raise explained(e) from e


def _named(written: Sequence[tuple[str, str, int]], table: str) -> list[str]:
    """Return the names of one table's files."""
    return [name for of, name, _ in written if of == table]


def _merged(known: Sequence[Evidence], found: Sequence[Evidence], faults: dict[str, list[str]], segment: str) -> list[Evidence]:
    """Merge the rows of `evidence_file`: those of the case under their present names, with new files replacing old ones.

    A file that was read stays as long as its rows do. The rows of files read in this run are in `segment`.
    """
    new = {e.place: e for e in found if e.status != SUPERSEDED}
    superseded = {(e.fingerprint.sha256, e.place): e for e in found if e.status == SUPERSEDED}
    read = {k.place for k in known if k.status == READ}
    merged: list[Evidence] = []
    for k in sorted(known, key=lambda k: k.status != READ):
        key, digest = k.place, k.fingerprint.sha256
        older = superseded.get((digest, key))
        same = key in new and new[key].status == SKIPPED and new[key].fingerprint.sha256 == digest
        if older is not None:
            if key not in new or new[key].fingerprint.sha256 != digest:
                merged.append(replace(older, path=earlier(k, k.path)))
        elif k.status == READ or (same and key not in read):
            merged.append(k)
            if same:  # the same file again
                del new[key]
        elif key not in new and not (k.status == SKIPPED and key in read):
            merged.append(k)
    for e in new.values():
        if e.status == READ:
            more = [fault for fault in faults.get(e.path, ()) if fault not in (e.note or "")]
            e = replace(e, segment=segment, note="; ".join(filter(None, (e.note, *more))) or None)
        merged.append(e)
    return sorted(with_hosts(merged), key=lambda e: (e.path, e.place.location))


def _facts(writer: CaseWriter, catalogue: Catalogue, options: Options) -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    earlier = writer.case.manifest if writer.case else {}
    return {
        "tool_version": __version__, "catalogue_hash": catalogue.hash, "command_line": list(options.command_line),
        "created": earlier.get("created", now), "updated": now, "knobs": earlier.get("knobs", {}), "keep_all": options.keep_all,
    }  # fmt: skip


def _summary(case: Case, evidence: list[Evidence], fresh: list[Evidence]) -> Summary:
    ranges = rows_in(case.table_paths("range_row")[0]) if len(case.table_paths("range_row")) == 1 else ds.dataset(
        [rows_in(p) for p in case.table_paths("range_row")]
    )  # fmt: skip
    columns = ["path", "range_start", "lines", "records", "events", "counted", "unrecognised", "unfit", "unfit_line", "unfit_text", "layouts"]
    table = ranges.to_table(columns=columns).sort_by([("path", "ascending"), ("range_start", "ascending")])
    counts = {name: pc.sum(table.column(name)).as_py() or 0 for name in ("lines", "records", "events", "counted", "unrecognised", "unfit")}
    counts["events"] -= counts["counted"]
    read: dict[str, FileRead] = {}
    for row in table.to_pylist():
        file = read.setdefault(row["path"], FileRead())
        file.records.update(dict(row["layouts"]))
        file.unfit += row["unfit"]
        if row["unfit"] and file.first_unfit is None:
            file.first_unfit = row["unfit_line"], row["unfit_text"]
    for e in fresh:
        if e.path in read:
            lossy = {x.name for x in (*packaged().layouts, *e.format.profile.learned) if x.loses_loggers}
            read[e.path].unnamed = sum(number for name, number in read[e.path].records.items() if name in lossy)
    broken = [(e.path, e.fault) for e in evidence if e.fault]
    zones = [e.path for e in evidence if e.status == READ and e.times.how == "assumed" and e.times.first is not None]
    return Summary(case, evidence, fresh, counts=counts, copies=_copies(case), faults=sorted(broken), read=read, assumed_zones=zones)


def _copies(case: Case) -> list[tuple[str, str]]:
    """Return the process and note of each copy in the view `coverage`."""
    path = case.view_path("coverage")
    if path is None:
        return []
    rows = rows_in(path).to_table(columns=["process_id", "note"], filter=pc.field("kind") == "copy").to_pylist()
    return sorted((row["process_id"], row["note"]) for row in rows)
