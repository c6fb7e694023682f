"""Name files in a case, and find the processes and hosts that wrote them, independent of the order and increments of ingests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from forensics.evidence.objects import Location
from forensics.evidence.rotation import disjoint, host_of, read_name
from forensics.inventory.evidence import LOG, READ, SKIPPED, SUPERSEDED, Evidence, Origin, Place
from forensics.inventory.source_options import SourceOptions
from forensics.redaction import hide_in_path

_ORDINAL_STEP = 1024
#: A container ID; Docker displays its first 12 digits.
_CONTAINER = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def _labels(evidence: Iterable[Evidence]) -> dict[str, str]:
    """Return a unique short name for each ingested folder."""
    labels: dict[str, str] = {}
    for root in sorted({e.root for e in evidence}):
        name = hide_in_path(Path(root).name)
        label, number = name, 1
        while label in labels.values():
            number += 1
            label = f"{name}~{number}"
        labels[root] = label
    return labels


def _paths(evidence: Sequence[Evidence]) -> dict[Place, str]:
    """Return the path of each file of a case by its place: relative to the ingested folder, prefixed with the folder's name where two would be equal.

    Secrets in names of folders and files are hidden: a path appears in every table.
    """
    labels = _labels(evidence)
    # A file that was found below two folders, one inside the other, is named by the outer one.
    by_place: dict[Place, Evidence] = {}
    for e in evidence:
        if e.place not in by_place or len(e.below) > len(by_place[e.place].below):
            by_place[e.place] = e
    by_name: dict[str, dict[Place, Evidence]] = {}
    for e in by_place.values():
        by_name.setdefault(hide_in_path(e.below), {})[e.place] = e
    paths: dict[Place, str] = {}
    taken: set[str] = set()
    for below, files in sorted(by_name.items(), key=lambda item: (len(item[1]) > 1, item[0])):
        for place, e in sorted(files.items(), key=lambda item: (item[1].root, item[0].location, item[0].member or "")):
            path = below if len(files) == 1 else f"{labels[e.root]}/{below}"
            number = 1
            while path in taken:
                number += 1
                path = f"{labels[e.root]}~{number}/{below}"
            taken.add(path)
            paths[place] = path
    return paths


def with_paths(evidence: Sequence[Evidence], known: Sequence[Evidence]) -> list[Evidence]:
    """Return the found files with paths that are unique in the case."""
    paths = _paths([*known, *evidence])
    return [replace(e, path=paths[e.place]) for e in evidence]


def renamed(known: Sequence[Evidence], found: Sequence[Evidence], looked: Sequence[Location] = ()) -> list[Evidence]:
    """Return the case's files with the names that they would have if they had been ingested together with the files found now.

    A log that has moved because it was rotated is named by its new place. If its place has other content and it is nowhere else, a prefix of its hash is
    appended to its path.

    Args:
        known: evidence of the case.
        found: files found now. The files that they supersede keep their names, because their rows are dropped.
        looked: the examined files and folders; a known file in them that is not found is gone.
    """
    gone = {(e.fingerprint.sha256, e.place) for e in found if e.status == SUPERSEDED}
    present = {e.place: e for e in found if e.status != SUPERSEDED}
    paths = _paths([*known, *present.values()])
    staying = [k.status != SUPERSEDED and (k.fingerprint.sha256, k.place) not in gone for k in known]
    now = [k if not stays else _moved(k, present, looked) for k, stays in zip(known, staying, strict=True)]
    before = process_names([k for k in known if k.is_live])
    after = process_names([*(n for n, stays in zip(now, staying, strict=True) if stays and n.is_live), *(e for e in found if e.is_live)])
    result = []
    for k, n, stays in zip(known, now, staying, strict=True):
        if stays:
            process = k.origin.process_id
            if id(n) in after and process == before[id(k)]:
                process = after[id(n)]
            path = earlier(n, paths[n.place]) if _is_displaced(n, present) else paths[n.place]
            n = replace(n, path=path, origin=replace(n.origin, process_id=process))
        result.append(n)
    return result


def earlier(evidence: Evidence, path: str) -> str:
    """Return the path of a content whose place now has other content."""
    mark = f"@{(evidence.fingerprint.sha256 or '')[:8]}"
    return path.removesuffix(mark) + mark


def _moved(known: Evidence, present: Mapping[Place, Evidence], looked: Sequence[Location]) -> Evidence:
    """Return a file at its present place: a new one if its content was found there and its own place was examined and no longer has that content."""
    here, digest = present.get(known.place), known.fingerprint.sha256
    if known.status != READ or (here.fingerprint.sha256 == digest if here else not known.is_below(looked)):
        return known
    there = next((e for e in present.values() if e.status == SKIPPED and e.fingerprint.sha256 == digest), None)
    return replace(known, place=there.place, below=there.below, text=there.text) if there else known


def _is_displaced(known: Evidence, present: Mapping[Place, Evidence]) -> bool:
    """Return True if a file's place now has other content; a place that was not examined keeps its earlier result."""
    if known.status != READ:
        return False
    here = present.get(known.place)
    return known.path == earlier(known, known.path) if here is None else here.fingerprint.sha256 != known.fingerprint.sha256


def with_processes(evidence: list[Evidence], options: SourceOptions, known: Sequence[Evidence], gone: Collection[str | None]) -> list[Evidence]:
    """Add the process, the user's host and the order of rotated files.

    Args:
        evidence: files found now.
        options: the user's options for files.
        known: evidence of the case.
        gone: hashes of superseded files of `known`.
    """
    live = [e for e in evidence if e.is_live]
    known = [k for k in known if k.is_live and k.fingerprint.sha256 not in gone]
    names = process_names([*known, *live])
    groups: dict[str, list[Evidence]] = {}
    for e in live:
        groups.setdefault(e.origin.process_id or names[id(e)], []).append(e)
    ordinals: dict[int, int] = {}
    for process, files in groups.items():
        ordinals.update(_ordinals(files, [k for k in known if k.origin.process_id == process]))
    result = []
    for e in evidence:
        if e.status == READ:
            host = options.host(e.path, e.place.location)
            owner = (e.origin.process_id or names[id(e)]) if e.is_live else None
            e = replace(e, origin=Origin(owner, host, host is not None, ordinals.get(id(e))))
        result.append(e)
    return result


def with_hosts(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Add the host of each file for which the user specified none: its folder, or the ingested folder if there are several.

    Args:
        evidence: all evidence of a case, so that the result is independent of the order of ingests.
    """
    several_roots = len({e.root for e in evidence if e.is_live}) > 1
    result = []
    for e in evidence:
        if e.status == READ and not e.origin.is_host_given:
            host = _CONTAINER.sub(r"\1", host_of(hide_in_path(e.below)) or "") or (
                hide_in_path(Path(e.root).name) if several_roots and e.format.kind == LOG else None
            )
            e = replace(e, origin=replace(e.origin, host=host))
        result.append(e)
    return result


def process_names(live: Sequence[Evidence]) -> dict[int, str]:
    """Return the process ID of each file: its path without the rotation suffix, and as many parent folders as make it unique.

    Container IDs are shortened, and secrets in names of folders and files are hidden.
    """
    names: dict[int, str] = {}
    labels = _labels(live)
    streams: dict[str, dict[str, list[Evidence]]] = {}  # stream's name, then ingested folder
    for e in live:
        streams.setdefault(_stream_name(e, live), {}).setdefault(e.root, []).append(e)
    for name, roots in streams.items():
        one_process = len(roots) == 1 or ("/" in name and disjoint([(e.times.first, e.times.last) for files in roots.values() for e in files]))
        for root, files in roots.items():
            names.update((id(e), name if one_process else f"{labels[root]}/{name}") for e in files)
    short = {name: _CONTAINER.sub(r"\1", name) for name in names.values()}
    times = Counter(short.values())
    unique = {name: short[name] if times[short[name]] == 1 else name for name in short}
    hidden: dict[str, str] = {}
    for name in sorted(unique):
        shown, number = hide_in_path(unique[name]), 1
        while shown in hidden.values():
            number += 1
            shown = f"{hide_in_path(unique[name])}~{number}"
        hidden[name] = shown
    return {key: hidden[name] for key, name in names.items()}


def _stream_name(evidence: Evidence, live: Sequence[Evidence]) -> str:
    name = read_name(evidence.below)
    if not name.weak:
        return name.base
    family = [e for e in live if e.root == evidence.root and read_name(e.below).base == name.base]
    has_base = any(e.below == name.base or not read_name(e.below).weak for e in family)
    return name.base if has_base and disjoint([(e.times.first, e.times.last) for e in family]) else evidence.below


def _ordinals(files: Sequence[Evidence], known: Sequence[Evidence]) -> dict[int, int]:
    """Return the ordinals of a process's files; known files keep theirs, and new files are placed between them."""
    timed = all(e.times.first is not None for e in (*files, *known))

    def key(e: Evidence) -> tuple[object, ...]:
        return (e.times.first if timed else 0, *read_name(e.below).order, e.path)

    placed = sorted(((key(k), k.origin.ordinal or 0) for k in known), key=lambda p: p[0])
    ordinals: dict[int, int] = {}
    for e in sorted(files, key=key):
        place = key(e)
        before = max((o for k, o in placed if k <= place), default=None)
        after = min((o for k, o in placed if k > place), default=None)
        if e.origin.ordinal is not None:
            ordinal = e.origin.ordinal
        elif before is None:
            ordinal = 0 if after is None else after - _ORDINAL_STEP
        else:
            ordinal = before + _ORDINAL_STEP if after is None else (before + after) // 2
        placed.append((place, ordinal))
        ordinals[id(e)] = ordinal
    return ordinals
