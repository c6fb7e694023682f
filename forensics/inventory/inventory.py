"""Find the evidence in files and folders: the hash, kind, process and time zone of each file.

A file that is broken, empty, unreadable or not a log never stops this: it gets a status and a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path, PurePosixPath

from forensics.evidence.objects import Location
from forensics.inventory.evidence import SUPERSEDED, Evidence, Times
from forensics.inventory.examination import examine
from forensics.inventory.names import renamed, with_hosts, with_paths, with_processes
from forensics.inventory.same_content import without_repeats
from forensics.inventory.source_options import SourceOptions
from forensics.inventory.walk import FileFound, walk
from forensics.records.timestamps import SECOND, Zone, offset_name
from forensics.snapshots.detection import GC_LOG, THREAD_DUMP, TOOLS

_THREADS = 2
#: Names that Kafka's scripts and others give GC logs, whose times include the time zone.
_GC_LOG = re.compile(r"(?:^|[^A-Za-z])gc(?:[^A-Za-z]|$)", re.IGNORECASE)


def find_evidence(
    paths: Sequence[Location],
    *,
    files: Sequence[FileFound] | None = None,
    options: SourceOptions | None = None,
    known: Sequence[Evidence] = (),
    exclude: Collection[Location] = (),
    again: bool = False,
    elsewhere: Callable[[Sequence[FileFound], SourceOptions], Iterable[tuple[int, list[Evidence]]] | None] = lambda found, options: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Evidence]:
    """Examine all files below some paths.

    Args:
        paths: files, folders, objects and prefixes of objects.
        files: the files, if they have been found already; None: those below `paths`.
        options: the user's options for files.
        known: evidence that the case already has. Files with the same content are skipped; a log that has grown supersedes its earlier state.
        exclude: folders, or prefixes of objects, to ignore (those of the case).
        again: read known files again, because they would now be read differently.
        elsewhere: examines files in other processes, and yields the number of each and what `examine` yields for it; None: this process examines them.
        progress: called with the bytes done and the total bytes.

    Returns:
        All files, by path. A file of `known` that has been superseded is included with that status.

    Raises:
        UsageError: a path does not exist.
        ForensicsError: an object store refuses to list its objects.
    """
    options = options or SourceOptions()
    found = list(files if files is not None else walk(paths, {p.resolve() if isinstance(p, Path) else p for p in exclude}))
    total = sum(f.size for f in found)
    done = [0]

    def step(count: int) -> None:
        done[0] += count
        progress(done[0], total)

    examined = elsewhere(found, options)
    if examined is None:
        with ThreadPoolExecutor(_THREADS) as pool:
            groups = dict(enumerate(pool.map(lambda item: list(examine(item, options, step)), found)))
    else:
        groups = {}
        for number, groups[number] in examined:
            step(found[number].size)
    evidence = [e for number in range(len(found)) for e in groups[number]]
    evidence = without_repeats(with_paths(evidence, known), known, options, again)
    gone = {e.fingerprint.sha256 for e in evidence if e.status == SUPERSEDED}
    evidence = _with_zones_of_gc_logs([_with_zone(e, options) if _has_zone(e, options) else e for e in evidence])
    evidence = _with_zones_of_logs(evidence)
    now = renamed(known, evidence)
    changed = {k.origin.process_id: n.origin.process_id for k, n in zip(known, now, strict=True) if k.origin.process_id != n.origin.process_id}
    evidence = [e.of(changed.get(e.origin.process_id, e.origin.process_id), e.origin.ordinal) if e.is_live else e for e in evidence]
    return with_hosts(with_processes(evidence, options, now, gone))


def _has_zone(evidence: Evidence, options: SourceOptions) -> bool:
    """Return True if times of this file may need a time zone: of a tool's output, only if the user gives one."""
    if evidence.format.kind in (*TOOLS, THREAD_DUMP):
        return options.time_zone(evidence.path, evidence.place.location) is not None
    return evidence.is_live or evidence.format.kind == GC_LOG


def _with_zone(evidence: Evidence, options: SourceOptions) -> Evidence:
    given, found = options.time_zone(evidence.path, evidence.place.location), evidence.times
    zone, ends = Zone(given or found.zone or "UTC"), found.ends
    offset = next((m.offset_us for m in ends if m is not None and m.offset_us is not None), None)
    first, last = (None if m is None else zone.utc(m) for m in ends)
    how = "layout" if offset is not None and found.how is None else "told" if given else found.how or "assumed"
    return replace(evidence, times=Times(zone.name, how, found.by, ends, first, last))


def _with_zones_of_gc_logs(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Apply the time zone of the GC logs in a folder to its logs without one, if the GC logs agree: one process has one time zone."""
    offsets: dict[tuple[str, str], list[Evidence]] = {}
    for e in evidence:
        if e.times.how == "layout" and (e.format.kind == GC_LOG or (e.is_live and _GC_LOG.search(PurePosixPath(e.below).name))):
            offsets.setdefault(_folder(e), []).append(e)
    return [_with_zone_of(e, offsets.get(_folder(e), ())) if e.is_live and e.times.how == "assumed" else e for e in evidence]


def _with_zones_of_logs(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Read dumps of threads in the time zone of the logs in their folder: a JVM prints its dumps and its log by one clock."""
    if not any(e.format.kind == THREAD_DUMP for e in evidence):
        return list(evidence)
    zones: dict[tuple[str, str], set[tuple[str | None, str | None]]] = {}
    for e in evidence:
        if e.is_live:
            zones.setdefault(_folder(e), set()).add((e.times.zone, e.times.how))
    return [_in_zone_of(e, zones.get(_folder(e), set())) if e.format.kind == THREAD_DUMP and e.times.zone is None else e for e in evidence]


def _in_zone_of(evidence: Evidence, zones: set[tuple[str | None, str | None]]) -> Evidence:
    if len({zone for zone, _ in zones}) != 1:
        return evidence
    zone, how = min(zones, key=lambda it: it[1] != "assumed")
    return replace(evidence, times=replace(evidence.times, zone=zone, how=how))


def _folder(evidence: Evidence) -> tuple[str, str]:
    return evidence.root, str(PurePosixPath(evidence.below).parent)


def _with_zone_of(evidence: Evidence, gc_logs: Sequence[Evidence]) -> Evidence:
    ends = evidence.times.ends
    found = {m.offset_us for g in gc_logs for m in g.times.ends if m is not None and m.offset_us is not None}
    if len(found) != 1 or ends[0] is None or ends[1] is None or ends[0].wall_us is None:
        return evidence
    zone = Zone(offset_name(found.pop() // (60 * SECOND)))
    first, last = zone.utc(ends[0]), zone.utc(ends[1])
    # A log that the zone would move away from the GC log comes from another machine.
    if any(_distance_us(first, last, g) > _distance_us(evidence.times.first, evidence.times.last, g) for g in gc_logs):
        return evidence
    return replace(evidence, times=Times(zone.name, "gc_log", evidence.times.by, ends, first, last))


def _distance_us(first: int | None, last: int | None, other: Evidence) -> int:
    """Return the microseconds between two logs; 0 if they overlap or the times of one are unknown."""
    begin, end = other.times.first, other.times.last
    return 0 if first is None or last is None or begin is None or end is None else max(0, begin - last, first - end)
