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
from forensics.evidence.rotation import read_name
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
    evidence = _with_zones_of_gc_logs([_with_zone(e, options) if _has_zone(e, options) else e for e in evidence], known)
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
    offset = next((m.offset_us for m in found.ends if m is not None and m.offset_us is not None), None)
    how = "layout" if offset is not None and found.how is None else "told" if given else found.how or "assumed"
    return replace(evidence, times=_in_zone(found, given or found.zone or "UTC", how))


def _with_zones_of_gc_logs(evidence: Sequence[Evidence], known: Sequence[Evidence]) -> list[Evidence]:
    """Apply the time zone of the GC logs in a folder to its logs without one, if the GC logs agree: one process has one time zone."""
    offsets: dict[tuple[str, str], list[Evidence]] = {}
    for e in evidence:
        if e.times.how == "layout" and (e.format.kind == GC_LOG or (e.is_live and _GC_LOG.search(PurePosixPath(e.below).name))):
            offsets.setdefault(_folder(e), []).append(e)
    found: dict[int, Times] = {}
    for files in _logs_of(evidence):
        read = {(k.times.zone, k.times.how) for k in known if k.is_live and _log(k) == _log(files[0])}
        found.update(_times_in_zone(files, offsets.get(_folder(files[0]), ()), read))
    return [replace(e, times=found.get(id(e), e.times)) for e in evidence]


def _logs_of(evidence: Iterable[Evidence]) -> Iterable[list[Evidence]]:
    """Return the files of each log: they differ only in the suffix of their rotation."""
    logs: dict[tuple[str, str], list[Evidence]] = {}
    for e in evidence:
        if e.is_live:
            logs.setdefault(_log(e), []).append(e)
    return logs.values()


def _log(evidence: Evidence) -> tuple[str, str]:
    return evidence.root, read_name(evidence.below).base


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


def _times_in_zone(files: Sequence[Evidence], gc_logs: Sequence[Evidence], read: set[tuple[str | None, str | None]]) -> dict[int, Times]:
    """Return the times of the files of one log that print no zone, in the zone of the others, or else of the GC logs beside them.

    With a zone of its own, each file would begin or end where the log seems to stop.

    Args:
        files: the files of one log.
        gc_logs: the GC logs in its folder, which print their zone.
        read: the zones of files of this log that the case already has, and how they were found.
    """
    assumed = [e for e in files if e.times.how == "assumed"]
    zones = {(e.times.zone, e.times.how) for e in files if e.times.how in ("collector", "gc_log")} | read
    if not assumed or len(zones) > 1:
        return {}
    zone, how = zones.pop() if zones else (_zone_of(assumed, gc_logs), "gc_log")
    if zone is None or how not in ("collector", "gc_log"):
        return {}
    return {id(e): _in_zone(e.times, zone, how) for e in assumed}


def _in_zone(times: Times, zone: str, how: str) -> Times:
    read = Zone(zone)
    first, last = (None if m is None else read.utc(m) for m in times.ends)
    return Times(read.name, how, times.by, times.ends, first, last)


def _zone_of(files: Sequence[Evidence], gc_logs: Sequence[Evidence]) -> str | None:
    """Return the zone of the GC logs beside the files of a log, unless they print several, or the log comes from another machine."""
    offsets = {m.offset_us for g in gc_logs for m in g.times.ends if m is not None and m.offset_us is not None}
    if len(offsets) != 1 or any(m is None or m.wall_us is None for e in files for m in e.times.ends):
        return None
    zone = offset_name(offsets.pop() // (60 * SECOND))
    collected = _reach(g.times for g in gc_logs)
    printed, moved = _reach(e.times for e in files), _reach(_in_zone(e.times, zone, "gc_log") for e in files)
    # A log that the zone would move away from the GC logs comes from another machine.
    return None if _distance_us(moved, collected) > _distance_us(printed, collected) else zone


def _reach(times: Iterable[Times]) -> tuple[int, int] | None:
    """Return the first and the last of several times; None if one is unknown."""
    ends = [(t.first, t.last) for t in times]
    if any(first is None or last is None for first, last in ends):
        return None
    return min(first for first, _ in ends if first is not None), max(last for _, last in ends if last is not None)


def _distance_us(one: tuple[int, int] | None, other: tuple[int, int] | None) -> int:
    """Return the microseconds between two periods; 0 if they overlap or one is unknown."""
    return 0 if one is None or other is None else max(0, other[0] - one[1], one[0] - other[1])
