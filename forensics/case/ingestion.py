"""Evidence into a case: looks at the files and reads them while the engine starts, and publishes what came out."""

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
from forensics.extract.local_time_jumps import separate
from forensics.extract.reading_processes import MUCH_BYTES, Readers
from forensics.extract.row_builder import COUNTED, EVENTS, UNRECOGNISED
from forensics.extract.splits import RANGE_BYTES, plan
from forensics.extract.tied_lines import set_right
from forensics.failures import explained
from forensics.inventory.evidence import CHANGED, READ, SKIPPED, SUPERSEDED, UNREADABLE, Evidence
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

_WATCH_SECONDS = 0.3
Progress = Callable[[str, int, int], None]


@dataclass
class FileRead:
    """What an ingest found in one file.

    Attributes:
        records: its records by layout.
        unnamed: records of layouts that have no place for a logger, though writers of such lines have one; of files that were read now.
        unfit: lines that belong to no record.
        first_unfit: number and text of the first of them.
    """

    records: Counter[str] = field(default_factory=Counter)
    unnamed: int = 0
    unfit: int = 0
    first_unfit: tuple[int, str] | None = None


@dataclass
class Summary:
    """What an ingest did.

    Attributes:
        case: the case as it is now.
        evidence: all of its files.
        added: those that were read now.
        grown: logs that have grown since they were read before: what each was called, and the file that it is now.
        gone: paths of files that are not there any more, or not as they were, though their folder was looked at; their rows stay.
        counts: lines, records, events, counted and unrecognised records, and unfit lines of the whole case, copies among them. What is counted is no event.
        copies: process and note of each log that is left out as another copy of a log; none where the case has no views yet.
        faults: path and reason of what could not be read, or not to its end.
        read: what was found in each file that was read, by its path.
        assumed_zones: paths whose times were read as UTC though nothing says so.
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
        """Files of one status."""
        return [e for e in self.evidence if e.status == status]


def ingest(
    paths: Sequence[Location],
    case_dir: Path,
    *,
    options: SourceOptions | None = None,
    parsers: Sequence[Path] = (),
    keep_all: bool = False,
    engine: Engine | None = None,
    jobs: int | None = None,
    readers: Readers | None = None,
    command_line: Sequence[str] = (),
    range_bytes: int = RANGE_BYTES,
    progress: Progress = lambda step, done, total: None,
    views: Callable[[Case], tuple[Case, Mapping[str, str] | None]] | None = None,
) -> Summary:
    """Reads evidence into a case; what the case has by content is not read again.

    Args:
        paths: files, folders and archives, on this machine or as objects.
        case_dir: the case's folder; made when it does not exist. Or the URL of a case in S3.
        options: zones, layouts and hosts as the user told them.
        parsers: folders of the user's own pattern files.
        keep_all: records that carry no fact are rows of `event`, too, and not only counted. A case remembers it.
        engine: starts while evidence is read, and for a new case while it is looked at, for the views; with a master its executors read.
            None: no engine is needed.
        jobs: cores to read with on this machine; all when None.
        readers: processes for that, which may have started; they are made here when None.
        command_line: kept in the manifest.
        range_bytes: size of the ranges that large files are cut in.
        progress: told a step (`looking`, `reading`, both in bytes, `reading on executors`, `writing`), what of it is done, and all of it.
        views: makes the views of the case and the texts that go with them, before it is published: rows and views become part of the case at once,
            or not at all. A case in which no row changed comes with the views that it has. None: the case has no views yet.

    Raises:
        UsageError: a path does not exist.
        ForensicsError: a store does not let its objects be listed.
        CatalogueError: a pattern file has a wrong form.
        CaseError: the case cannot be written.
        ForensicsError: the engine does not start, or a process that reads has ended.
    """
    for path in paths:
        if isinstance(path, Path) and not path.exists():
            raise UsageError(f"There is no file or folder `{path}`.", where=str(path))
    catalogue = load(parsers, keep_all=keep_all)
    with writing(case_dir) as writer, ThreadPoolExecutor(1) as pool, ExitStack() as open_until_the_end:
        if writer.case is not None and writer.case.manifest.get("keep_all") and not keep_all:
            keep_all, catalogue = True, load(parsers, keep_all=True)
        far = writer.remote if engine and engine.is_far else None
        if engine:
            engine.elsewhere = far
        staged = writer.staging / "rows"
        readers = readers or open_until_the_end.enter_context(Readers(jobs))
        readers.tell(catalogue, staged)
        starting = [pool.submit(lambda: engine and engine.session)] if writer.case is None else []
        found = find_evidence(
            paths, options=options, known=writer.known(), exclude=[writer.root, *([writer.remote.url] if writer.remote else ())], again=_knows_otherwise(writer, catalogue),
            sized=lambda size: readers.begin(0 if engine and engine.master else size // MUCH_BYTES), progress=lambda done, total: progress("looking", done, total),
        )  # fmt: skip
        fresh = [e for e in found if e.status == READ]
        if fresh and not starting:
            starting.append(pool.submit(lambda: engine and engine.session))
        for start in starting:
            if start.done():
                start.result()  # what is wrong with the engine is said before all is read
        faults: dict[str, list[str]] = {}
        if fresh:
            progress("reading", 0, 1)
            if engine and engine.master:
                target = far.staging() if far else staged
                written = _read_on_executors(engine.session, fresh, catalogue, target, range_bytes, progress)
                if isinstance(target, S3Path) and far:
                    far.fetch_from(target, [name for table, name, _ in written if table != "range_row"], staged)
            else:
                written = readers.read(plan(fresh, range_bytes, readers.most), lambda done, total: progress("reading", done, total))
            progress("writing", 0, 1)
            zoned = frozenset(e.origin.process_id or e.path for e in fresh if e.times.how == "layout")
            events, counted, others = (_named(written, table) for table in (EVENTS, COUNTED, UNRECOGNISED))
            set_right(
                [staged / n for n in events], [staged / n for n in (*counted, *others)], [e.path for e in fresh if e.format.profile.newest_first]
            )
            ranges = separate(staged, events, counted, others, range_rows(written), zoned, {e.path: e.origin.ordinal or 0 for e in fresh})
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
        case, texts = writer.finish(evidence, _facts(writer, catalogue, command_line, keep_all=keep_all)), None
        if views is not None:
            for start in starting:
                start.result()
            if far:
                far.upload(case.manifest["contents"])
            case, texts = views(case)
        case = publish(case, texts)
    return replace(_summary(case, evidence, fresh), grown=grown(found), gone=gone(known, found, paths))


def _knows_otherwise(writer: CaseWriter, catalogue: Catalogue) -> bool:
    """Whether the case was made with other patterns, or keeps other records."""
    return writer.case is not None and writer.case.manifest.get("catalogue_hash") != catalogue.hash


def _read_on_executors(
    spark: SparkSession, evidence: Sequence[Evidence], catalogue: Catalogue, target: Location, range_bytes: int, progress: Progress
) -> list[Written]:
    """One Spark job: its tasks write the rows, and say what they wrote."""
    from forensics.extract.spark_source import NAME, EvidenceSource, job_option

    if any(isinstance(where, S3Path) for where in (target, *(place_of(e.place.location) for e in evidence))):
        # As Spark does for its own readers: who may read here may read on the executors, where nothing else is said there.
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
    """Names of the files of one table."""
    return [name for of, name, _ in written if of == table]


def _merged(known: Sequence[Evidence], found: Sequence[Evidence], faults: dict[str, list[str]], segment: str) -> list[Evidence]:
    """Rows of `evidence_file`: those of the case, as they are called now, and the new ones in the place of old ones. What was read stays as long as its rows
    do; rows of what was read now are in `segment`.
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
            if same:  # the same file once more
                del new[key]
        elif key not in new and not (k.status == SKIPPED and key in read):
            merged.append(k)
    for e in new.values():
        if e.status == READ:
            more = [fault for fault in faults.get(e.path, ()) if fault not in (e.note or "")]
            e = replace(e, segment=segment, note="; ".join(filter(None, (e.note, *more))) or None)
        merged.append(e)
    return sorted(with_hosts(merged), key=lambda e: (e.path, e.place.location))


def _facts(writer: CaseWriter, catalogue: Catalogue, command_line: Sequence[str], *, keep_all: bool) -> dict[str, object]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    earlier = writer.case.manifest if writer.case else {}
    return {
        "tool_version": __version__, "catalogue_hash": catalogue.hash, "command_line": list(command_line),
        "created": earlier.get("created", now), "updated": now, "knobs": earlier.get("knobs", {}), "keep_all": keep_all,
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
    broken = [(e.path, e.note or "") for e in evidence if e.status == UNREADABLE or (e.status == READ and e.note)]
    zones = [e.path for e in evidence if e.status == READ and e.times.how == "assumed" and e.times.first is not None]
    return Summary(case, evidence, fresh, counts=counts, copies=_copies(case), faults=sorted(broken), read=read, assumed_zones=zones)


def _copies(case: Case) -> list[tuple[str, str]]:
    """What the view `coverage` says of copies."""
    path = case.view_path("coverage")
    if path is None:
        return []
    rows = rows_in(path).to_table(columns=["process_id", "note"], filter=pc.field("kind") == "copy").to_pylist()
    return sorted((row["process_id"], row["note"]) for row in rows)
