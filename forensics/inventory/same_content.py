"""Find copies, logs that have grown, and files that changed while they were read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from forensics.evidence.containers import open_content, place_of
from forensics.evidence.objects import Location
from forensics.evidence.streams import BLOCK, BROKEN
from forensics.inventory.evidence import CHANGED, GREW, READ, SKIPPED, SUPERSEDED, UNREADABLE, Evidence
from forensics.inventory.names import process_names
from forensics.inventory.source_options import SourceOptions
from forensics.inventory.walk import mark_of


def without_repeats(evidence: Sequence[Evidence], known: Sequence[Evidence], options: SourceOptions, again: bool) -> list[Evidence]:
    """Mark copies, and earlier states of logs that have grown.

    Args:
        evidence: files found now.
        known: evidence of the case.
        options: the user's options in this run.
        again: True to read the case's files again.

    Returns:
        The files found now, by path, then the files of `known` that they supersede.
    """
    stale = {k.place: k for k in known if k.status == READ and CHANGED in (k.note or "")}
    known = [k for k in known if k not in stale.values()]
    by_hash = {k.fingerprint.sha256: k for k in known if k.status in (READ, SUPERSEDED)}
    by_start: dict[str, list[Evidence]] = {}
    natural = process_names([k for k in known if k.is_live])
    for k in known:
        if k.status == READ:
            by_start.setdefault(k.fingerprint.start_id, []).append(k)
    result, superseded = [], []
    # Larger files first: an earlier state of a log is a prefix of the later one.
    for e in sorted((e for e in evidence if e.status == READ), key=lambda e: -(e.fingerprint.size or 0)):
        if old := stale.get(e.place):
            superseded.append(replace(old, status=SUPERSEDED, note="read again"))
            e = e.of(old.origin.process_id, old.origin.ordinal)
        twin = by_hash.get(e.fingerprint.sha256)
        if twin is not None and twin.status == READ and twin in known and (again or _has_new_options(e, twin, options)):
            superseded.append(replace(twin, status=SUPERSEDED, note="read again"))
            e = e.of(_inherited(e, twin, natural), twin.origin.ordinal)
            by_start[e.fingerprint.start_id].remove(twin)
        elif twin is not None:
            result.append(_left_out(e, f"same content as {twin.path}"))
            continue
        candidates = by_start.get(e.fingerprint.start_id, [])
        longer = next((o for o in candidates if _begins(e, o)), None)
        if longer is not None:
            result.append(_left_out(e, f"the beginning of {longer.path}"))
            continue
        for older in [o for o in candidates if _begins(o, e)]:
            superseded.append(replace(older, status=SUPERSEDED, note=GREW + e.path))
            e = e.of(_inherited(e, older, natural), older.origin.ordinal)
            candidates.remove(older)
        by_hash[e.fingerprint.sha256] = e
        by_start.setdefault(e.fingerprint.start_id, []).append(e)
        result.append(e)
    result.extend(e for e in evidence if e.status != READ)
    return sorted(result, key=lambda e: (e.path, e.place.location)) + superseded


def _left_out(evidence: Evidence, note: str) -> Evidence:
    return replace(evidence, status=SKIPPED, fingerprint=replace(evidence.fingerprint, file_id=None), note=note)


def _inherited(evidence: Evidence, older: Evidence, natural: Mapping[int, str]) -> str | None:
    """Return the process that a log inherits from its earlier state; None if its path gives the same name."""
    return None if evidence.place == older.place and natural.get(id(older)) == older.origin.process_id else older.origin.process_id


def _has_new_options(evidence: Evidence, twin: Evidence, options: SourceOptions) -> bool:
    """Return True if the user's options change how a file of the case is read."""
    zone = options.time_zone(evidence.path, evidence.place.location)
    pattern = evidence.format.pattern
    return (zone is not None and zone != twin.times.zone) or (pattern is not None and pattern != twin.format.pattern)


def _begins(short: Evidence, long: Evidence) -> bool:
    """Return True if a content is a prefix of a longer one."""
    size = short.fingerprint.size or 0
    return size < (long.fingerprint.size or 0) and _prefix_hash(long, size) == short.fingerprint.sha256


def _is_unchanged(evidence: Evidence) -> bool:
    return _prefix_hash(evidence, evidence.fingerprint.size or 0) == evidence.fingerprint.sha256


def _prefix_hash(evidence: Evidence, size: int) -> str | None:
    """Return the hash of the first `size` bytes of a content; None if it can no longer be read or if only a case names its location."""
    if not evidence.is_named:
        return None
    whole = hashlib.sha256()
    try:
        with open_content(place_of(evidence.place.location), evidence.place.member) as content:
            while size > 0 and (data := content.read(min(BLOCK, size))):
                whole.update(data)
                size -= len(data)
    except BROKEN:
        return None
    return whole.hexdigest() if size == 0 else None


def grown(evidence: Iterable[Evidence]) -> list[tuple[str, str]]:
    """Return the earlier and the present path of each log that has grown."""
    return [(e.path, (e.note or "").removeprefix(GREW)) for e in evidence if e.status == SUPERSEDED and (e.note or "").startswith(GREW)]


def gone(known: Sequence[Evidence], found: Sequence[Evidence], paths: Sequence[Location]) -> list[str]:
    """Return the paths of read files below the examined paths whose content was not found."""
    contents = {e.fingerprint.sha256 for e in found}
    broken = {e.place.location for e in found if e.status == UNREADABLE}
    missing = [k for k in known if k.status == READ and k.fingerprint.sha256 not in contents and k.place.location not in broken]
    return [k.path for k in missing if k.is_below(paths)]


def changed_since(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the files whose content has changed since they were hashed; a log that has only grown has not changed."""
    by_place: dict[str, list[Evidence]] = {}
    for e in evidence:
        by_place.setdefault(e.place.location, []).append(e)
    return [e for place, files in by_place.items() if _is_touched(place, files[0].seen) for e in files if not _is_unchanged(e)]


def _is_touched(location: str, seen: tuple[object, ...]) -> bool:
    try:
        return mark_of(place_of(location)) != seen
    except OSError:
        return True
