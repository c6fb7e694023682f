"""Files and folders to a list of evidence: what each is, its hash, the process that wrote it, and by which zone its times are read.

Nothing here stops at a file that is broken, empty, secret or no log: that is its status, with a note.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import stat
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from forensics.errors import UsageError, reason_of
from forensics.evidence.containers import SEPARATOR, Content, Text, contents, encoding_of, open_content, place_of, written
from forensics.evidence.rotation import disjoint, host_of, read_name
from forensics.evidence.streams import BLOCK, BROKEN
from forensics.inventory.file_type import is_binary, is_log, looks_like
from forensics.records.layout_detection import SAMPLE_BYTES, ends_of, profile_of
from forensics.records.layouts import Layouts, packaged
from forensics.records.line_reader import HOLE, Profile, without_holes
from forensics.records.timestamps import Moment, Zone
from forensics.snapshots.detection import LOG, kind_of

#: The beginning of a file that its records' ids are made from, so that a log that grows keeps them.
HEAD_BYTES = 64 * 1024
#: Newlines are counted for each block of so many bytes, so that ranges know their line numbers.
COUNT_BLOCK = 4 << 20
_TAIL_BYTES = 64 * 1024
_START_BYTES = 96
_THREADS = 2
_ORDINAL_STEP = 1024

#: What is said of a file whose rows and whose hash may be of different bytes.
CHANGED = "it changed while it was read: its rows may be of other bytes than its hash; ingest it again"
_LEADS_OUT = "a link that leads out of the evidence; name where it leads to as a path of its own to have it read"
READ, SKIPPED, UNREADABLE, SUPERSEDED = "read", "skipped", "unreadable", "superseded"


@dataclass(frozen=True)
class Told:
    """What the user said about sources, by glob (of the path below the ingested folder, or of the whole path); later entries win.

    Attributes:
        time_zones: glob and zone.
        layouts: glob and PatternLayout string.
        hosts: glob and name.
    """

    time_zones: tuple[tuple[str, str], ...] = ()
    layouts: tuple[tuple[str, str], ...] = ()
    hosts: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, time_zones: Iterable[str] = (), layouts: Iterable[str] = (), hosts: Iterable[str] = ()) -> Told:
        """Reads `[GLOB=]ZONE`, `[GLOB=]PATTERN` and `GLOB=NAME` as they stand on a command line.

        Raises:
            UsageError: a zone, pattern or form is wrong.
        """
        told = cls(
            tuple(_split(t) for t in time_zones),
            tuple(_split(t, before="%") for t in layouts),
            tuple(_split(t) for t in hosts),
        )
        for glob, name in told.hosts:
            if glob == "*":
                raise UsageError("A host needs the files that it is of.", where=name, fix="Write --host GLOB=NAME.")
        for _, zone in told.time_zones:
            Zone(zone)
        for _, pattern in told.layouts:
            packaged().with_pattern(pattern)
        return told


@dataclass(frozen=True)
class Evidence:
    """One file, or one member of an archive. The first fifteen attributes are the columns of `evidence_file`.

    Attributes:
        kind: `log`, or the kind of second witness: such a file has no process and no zone.
        head_id: made of the first `HEAD_BYTES`; ids of records begin with it.
        encoding: see `contents.Text`.
        plain: the bytes lie on disk as they are.
        profile: what its lines look like.
        pattern: layout that the user told for it.
        counts: newlines in each `COUNT_BLOCK` of a plain file.
        text_bytes: size as UTF-8.
        below: path below the ingested folder, as `path`, but never with more in front of it to be unique.
        segment: segment of the case's tables that has its rows.
        first, last: times at both ends, microseconds UTC.
        host_told: the user told the host.
        start_id: made of the first bytes only: candidates for being one log at two times.
        seen: what the disk said of the file on it before it was looked at; see `mark_of`.
    """

    file_id: str | None
    sha256: str | None
    path: str
    location: str
    archive_member: str | None
    bytes: int | None = None
    lines: int | None = None
    process_id: str | None = None
    host: str | None = None
    time_zone: str | None = None
    time_zone_how: str | None = None
    ordinal: int | None = None
    status: str = READ
    note: str | None = None
    kind: str = LOG
    head_id: builtins.bytes = b""
    start_id: str = ""
    encoding: str = "utf-8"
    plain: bool = False
    profile: Profile = Profile()
    pattern: str | None = None
    counts: tuple[int, ...] = ()
    text_bytes: int = 0
    below: str = ""
    segment: str = ""
    ends: tuple[Moment | None, Moment | None] = (None, None)
    first: int | None = None
    last: int | None = None
    seen: tuple[int, ...] = ()
    host_told: bool = False

    @property
    def root(self) -> str:
        """The ingested folder."""
        whole = f"{self.location}/{self.archive_member.replace(SEPARATOR, '/')}" if self.archive_member else self.location
        return whole.removesuffix(self.below or self.path).rstrip("/")


def find_evidence(
    paths: Sequence[Path],
    *,
    told: Told | None = None,
    known: Sequence[Evidence] = (),
    exclude: Collection[Path] = (),
    again: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Evidence]:
    """Looks at everything below some paths.

    Args:
        paths: files and folders.
        told: what the user said about them.
        known: evidence that the case already has: its content is skipped, and what has grown takes its place.
        exclude: folders to leave out (the case's own).
        again: read also what the case has, for it would now be read otherwise.
        progress: told bytes done and in all.

    Returns:
        All files, by path. Those of `known` that a file has grown from are among them again, as `superseded`.

    Raises:
        UsageError: a path does not exist.
    """
    told = told or Told()
    found = list(_walk(paths, {p.resolve() for p in exclude}))
    sizes = [f.size for f in found]
    done = [0]

    def look(item: _Found) -> list[Evidence]:
        def step(count: int) -> None:
            done[0] += count
            progress(done[0], sum(sizes))

        return list(_look(item, told, step))

    with ThreadPoolExecutor(_THREADS) as pool:
        evidence = [e for group in pool.map(look, found) for e in group]
    evidence = _same_content(_with_paths(evidence, known), known, told, again)
    gone = {e.sha256 for e in evidence if e.status == SUPERSEDED}
    evidence = [_with_zone(e, told) if _is_live(e) else e for e in evidence]
    now = renamed(known, evidence)
    changed = {k.process_id: n.process_id for k, n in zip(known, now, strict=True) if k.process_id != n.process_id}
    evidence = [replace(e, process_id=changed.get(e.process_id, e.process_id)) if _is_live(e) else e for e in evidence]
    return with_hosts(_with_processes(evidence, told, now, gone))


@dataclass(frozen=True)
class _Found:
    path: str
    location: Path
    size: int
    status: str = READ
    note: str = ""
    seen: tuple[int, ...] = ()


def mark_of(about: os.stat_result) -> tuple[int, ...]:
    """What changes when somebody writes to a file or puts another in its place."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def _walk(paths: Sequence[Path], exclude: set[Path]) -> Iterator[_Found]:
    """Files on disk, each once, in a stable order."""
    seen: set[tuple[int, int]] = set()
    roots = [path.resolve() for path in paths]
    for path in paths:
        if not path.exists():
            raise UsageError(f"There is no file or folder {path}.", where=str(path))
        if path.is_dir():
            yield from _walk_folder(path.resolve(), "", seen, exclude, roots)
        else:
            yield from _file(path.resolve(), written(path.name), seen)


def _walk_folder(folder: Path, prefix: str, seen: set[tuple[int, int]], exclude: set[Path], roots: Sequence[Path]) -> Iterator[_Found]:
    try:
        about = folder.stat()
        if folder.resolve() in exclude or (about.st_dev, about.st_ino) in seen:
            return
        seen.add((about.st_dev, about.st_ino))
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as e:
        yield _Found(prefix.rstrip("/") or written(folder.name), folder, 0, UNREADABLE, _os_reason(e))
        return
    for entry in entries:
        path = prefix + written(entry.name)
        try:
            if entry.is_symlink() and not _is_inside(Path(entry.path), roots):
                yield _Found(path, Path(entry.path), 0, SKIPPED, _LEADS_OUT)
                continue
            is_dir = entry.is_dir()
        except OSError as e:
            yield _Found(path, Path(entry.path), 0, UNREADABLE, _os_reason(e))
            continue
        if is_dir:
            yield from _walk_folder(Path(entry.path), path + "/", seen, exclude, roots)
        else:
            yield from _file(Path(entry.path), path, seen)


def _is_inside(link: Path, roots: Sequence[Path]) -> bool:
    """Whether a link leads to something below the given paths: else the sender of a bundle could have us read the reader's own files."""
    target = link.resolve()
    return any(target == root or root in target.parents for root in roots)


def _file(location: Path, path: str, seen: set[tuple[int, int]]) -> Iterator[_Found]:
    try:
        about = location.stat()
    except OSError as e:
        yield _Found(path, location, 0, UNREADABLE, _os_reason(e))
        return
    key = (about.st_dev, about.st_ino)
    if key in seen:
        return
    seen.add(key)
    if not stat.S_ISREG(about.st_mode):
        yield _Found(path, location, 0, SKIPPED, "not a regular file")
    else:
        yield _Found(path, location, about.st_size, seen=mark_of(about))


def _os_reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _look(found: _Found, told: Told, step: Callable[[int], None]) -> Iterator[Evidence]:
    location = written(str(found.location))
    if found.status != READ:
        yield Evidence(None, None, found.path, location, None, below=found.path, status=found.status, note=found.note)
        return
    given = 0
    try:
        for member, content in contents(found.location):
            path = f"{found.path}/{_shown(member)}" if member else found.path
            pattern = _said(told.layouts, path, location)
            layouts = packaged().with_pattern(pattern) if pattern else packaged()
            evidence = Evidence(None, None, path, location, member, below=path, pattern=pattern, plain=content.plain, seen=found.seen)
            try:
                yield _examine(evidence, content, layouts, step)
            except Exception as e:  # whatever is wrong with one file, it is named and the others are read
                yield replace(evidence, status=UNREADABLE, note=reason_of(e))
            given += 1
    except Exception as e:
        yield Evidence(None, None, found.path, location, None, below=found.path, status=UNREADABLE, note=reason_of(e).lower())
        return
    if not given:
        yield Evidence(None, None, found.path, location, None, below=found.path, status=SKIPPED, note="an archive without files")


def _shown(member: str) -> str:
    """A member's name as a path below the archive: never absolute, never upwards."""
    parts = [p for p in member.replace(SEPARATOR, "/").replace("\\", "/").split("/") if p not in ("", ".", "..")]
    return "/".join(parts) or "member"


def _examine(evidence: Evidence, content: Content, layouts: Layouts, step: Callable[[int], None]) -> Evidence:
    """One pass over a content: hash, size, newlines, and what it looks like."""
    whole, head_hash, start_hash = hashlib.sha256(), hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=8)
    counter = _TextCounter()
    size = 0
    text: Text | None = None
    while data := content.read(BLOCK):
        text = text or Text(content, encoding_of(data))
        if size < HEAD_BYTES:
            start_hash.update(data[: max(0, _START_BYTES - size)])
            head_hash.update(data[: HEAD_BYTES - size])
        whole.update(data)
        size += len(data)
        counter.add(text.recode(data))
        step(len(data) if evidence.plain else 0)
    if text is not None:
        counter.add(text.recode(b"", final=True))
    digest = whole.hexdigest()
    found = replace(
        evidence, file_id=digest[:24], sha256=digest, bytes=size, head_id=head_hash.digest(), start_id=start_hash.hexdigest(),
        encoding=text.encoding if text else "utf-8", plain=evidence.plain and (text is None or text.encoding == "utf-8"),
        text_bytes=counter.size, lines=counter.lines + (counter.last not in (b"", b"\n")), counts=tuple(counter.counts),
    )  # fmt: skip
    if content.error and not size:
        return replace(found, file_id=None, sha256=None, bytes=None, lines=None, status=UNREADABLE, note=content.error)
    note = _fault_note(content, size, found.lines or 0) if content.error else None
    if not size:
        return replace(found, status=SKIPPED, note="empty")
    if not counter.written:
        lost = is_log(evidence.path, b"", Profile())
        told = "nothing but zero bytes" + (": what was written to it is lost" if lost else "")
        return replace(found, status=UNREADABLE if lost else SKIPPED, note=told)
    sample, tail = bytes(counter.sample), b"".join(counter.tail)[-_TAIL_BYTES:]
    profile = profile_of(sample, layouts, tail if counter.written > SAMPLE_BYTES + _TAIL_BYTES else b"") if not is_binary(sample) else Profile()
    profile = replace(profile, holes=counter.holes)
    # A layout that was learned from the file itself fits the output of a tool as well as a log.
    fitting = 0 if profile.learned else profile.fitting
    kind = kind_of(sample, fitting=fitting, lines=profile.lines) if not is_binary(sample) else None
    if kind is not None:
        return replace(found, kind=kind, note=note)
    if not is_log(evidence.path, sample, profile):
        return replace(found, status=SKIPPED, note=looks_like(evidence.path, sample))
    ends = ends_of(sample, tail if counter.written > SAMPLE_BYTES else sample, layouts, profile)
    return replace(found, profile=profile, ends=ends, note=note)


def _fault_note(content: Content, size: int, lines: int) -> str:
    """What was read of a content before its fault, and what was not."""
    note = f"read up to a fault: {content.error}; {lines:,} {'line' if lines == 1 else 'lines'} ({size:,} bytes) before it"
    lost, exact = content.lost
    if not lost:
        return note
    return f"{note}, {'' if exact else 'about '}{lost:,} bytes (about {max(1, lost * lines // max(size, 1)):,} lines) are lost"


@dataclass
class _TextCounter:
    """Counts newlines for each block of text; keeps its beginning and end, holes left out.

    Attributes:
        written: size without holes.
        holes: whether there is one, or a line that begins with a zero byte.
    """

    size: int = 0
    written: int = 0
    lines: int = 0
    last: bytes = b""
    counts: list[int] = field(default_factory=list)
    holes: bool = False
    sample: bytearray = field(default_factory=bytearray)
    tail: deque[bytes] = field(default_factory=deque)

    def add(self, data: bytes) -> None:
        if not data:
            return
        block = self.size // COUNT_BLOCK
        self.counts.extend([0] * (block + 1 - len(self.counts)))
        newlines = int(np.count_nonzero(np.frombuffer(data, np.uint8) == 10))
        self.counts[block] += newlines
        self.lines += newlines
        self.size += len(data)
        self.last = data[-1:]
        self.holes = self.holes or HOLE in data or b"\n\0" in data or (self.size == len(data) and data[:1] == b"\0")
        data = without_holes(data)
        self.written += len(data)
        if len(self.sample) < SAMPLE_BYTES:
            self.sample += data[: SAMPLE_BYTES - len(self.sample)]
        self.tail.append(data)
        while len(self.tail) > 1 and sum(map(len, self.tail)) - len(self.tail[0]) >= _TAIL_BYTES:
            self.tail.popleft()


def _same_content(evidence: Sequence[Evidence], known: Sequence[Evidence], told: Told, again: bool) -> list[Evidence]:
    """Marks what is there twice, and what is the beginning of something else: a log as it was earlier."""
    stale = {(k.location, k.archive_member): k for k in known if k.status == READ and CHANGED in (k.note or "")}
    known = [k for k in known if k not in stale.values()]
    by_hash = {k.sha256: k for k in known if k.status in (READ, SUPERSEDED)}
    by_start: dict[str, list[Evidence]] = {}
    natural = _process_names([k for k in known if _is_live(k)])
    for k in known:
        if k.status == READ:
            by_start.setdefault(k.start_id, []).append(k)
    result, superseded = [], []
    # larger first: an earlier state of a log is its beginning
    for e in sorted((e for e in evidence if e.status == READ), key=lambda e: -(e.bytes or 0)):
        if old := stale.get((e.location, e.archive_member)):
            superseded.append(replace(old, status=SUPERSEDED, note="read again"))
            e = replace(e, process_id=old.process_id, ordinal=old.ordinal)
        twin = by_hash.get(e.sha256)
        if twin is not None and twin.status == READ and twin in known and (again or _told_anew(e, twin, told)):
            superseded.append(replace(twin, status=SUPERSEDED, note="read again"))
            e = replace(e, process_id=_inherited(e, twin, natural), ordinal=twin.ordinal)
            by_start[e.start_id].remove(twin)
        elif twin is not None:
            result.append(replace(e, status=SKIPPED, file_id=None, note=f"same content as {twin.path}"))
            continue
        alike = by_start.get(e.start_id, [])
        longer = next((o for o in alike if (o.bytes or 0) > (e.bytes or 0) and _prefix_hash(o, e.bytes or 0) == e.sha256), None)
        if longer is not None:
            result.append(replace(e, status=SKIPPED, file_id=None, note=f"the beginning of {longer.path}"))
            continue
        for older in [o for o in alike if (o.bytes or 0) < (e.bytes or 0) and _prefix_hash(e, o.bytes or 0) == o.sha256]:
            superseded.append(replace(older, status=SUPERSEDED, note=f"has grown into {e.path}"))
            e = replace(e, process_id=_inherited(e, older, natural), ordinal=older.ordinal)
            alike.remove(older)
        by_hash[e.sha256] = e
        by_start.setdefault(e.start_id, []).append(e)
        result.append(e)
    result.extend(e for e in evidence if e.status != READ)
    return sorted(result, key=lambda e: (e.path, e.location)) + superseded


def _inherited(evidence: Evidence, older: Evidence, natural: Mapping[int, str]) -> str | None:
    """The process of a log that was known as it was earlier; None where the place where it lies names it anyway."""
    return None if _place(evidence) == _place(older) and natural.get(id(older)) == older.process_id else older.process_id


def _told_anew(evidence: Evidence, twin: Evidence, told: Told) -> bool:
    """Whether the user now says something about a file of the case that changes how it is read."""
    zone = _said(told.time_zones, evidence.path, evidence.location)
    return (zone is not None and zone != twin.time_zone) or (evidence.pattern is not None and evidence.pattern != twin.pattern)


def _place(evidence: Evidence) -> tuple[str, str | None]:
    return evidence.location, evidence.archive_member


def _labels(evidence: Iterable[Evidence]) -> dict[str, str]:
    """A short name for each ingested folder that no other one has."""
    labels: dict[str, str] = {}
    for root in sorted({e.root for e in evidence}):
        label, number = Path(root).name, 1
        while label in labels.values():
            number += 1
            label = f"{Path(root).name}~{number}"
        labels[root] = label
    return labels


def _paths(evidence: Sequence[Evidence]) -> dict[tuple[str, str | None], str]:
    """The path of each file of a case, by its place: as below the ingested folder, with that folder's name before it where two would have one path."""
    labels = _labels(evidence)
    alike: dict[str, dict[tuple[str, str | None], Evidence]] = {}
    for e in evidence:
        alike.setdefault(e.below, {}).setdefault(_place(e), e)
    paths: dict[tuple[str, str | None], str] = {}
    taken: set[str] = set()
    for below, files in sorted(alike.items(), key=lambda item: (len(item[1]) > 1, item[0])):
        for place, e in sorted(files.items(), key=lambda item: (item[1].root, item[0][0], item[0][1] or "")):
            path = below if len(files) == 1 else f"{labels[e.root]}/{below}"
            number = 1
            while path in taken:
                number += 1
                path = f"{labels[e.root]}~{number}/{below}"
            taken.add(path)
            paths[place] = path
    return paths


def _with_paths(evidence: Sequence[Evidence], known: Sequence[Evidence]) -> list[Evidence]:
    paths = _paths([*known, *evidence])
    return [replace(e, path=paths[_place(e)]) for e in evidence]


def renamed(known: Sequence[Evidence], found: Sequence[Evidence]) -> list[Evidence]:
    """What a case has, with the names that it would have if it had been ingested together with what is found now: any order gives the same.

    Args:
        known: evidence of the case.
        found: what was found now; what it supersedes keeps its names, for its rows go.
    """
    gone = {(e.sha256, *_place(e)) for e in found if e.status == SUPERSEDED}
    paths = _paths([*known, *(e for e in found if e.status != SUPERSEDED)])
    staying = [k for k in known if _is_live(k) and (k.sha256, *_place(k)) not in gone]
    before = _process_names([k for k in known if _is_live(k)])
    after = _process_names([*staying, *(e for e in found if _is_live(e))])
    result = []
    for k in known:
        if k.status != SUPERSEDED and (k.sha256, *_place(k)) not in gone:
            k = replace(k, path=paths[_place(k)], process_id=after[id(k)] if id(k) in after and k.process_id == before[id(k)] else k.process_id)
        result.append(k)
    return result


def _prefix_hash(evidence: Evidence, size: int) -> str | None:
    """Hash of the first `size` bytes of a content, None when it cannot be read any more."""
    whole = hashlib.sha256()
    try:
        with open_content(place_of(evidence.location), evidence.archive_member) as content:
            while size > 0 and (data := content.read(min(BLOCK, size))):
                whole.update(data)
                size -= len(data)
    except BROKEN:
        return None
    return whole.hexdigest() if size == 0 else None


def changed_since(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Those files whose content is no longer what it was when their hashes were taken. A log that only grew is not among them."""
    by_place: dict[str, list[Evidence]] = {}
    for e in evidence:
        by_place.setdefault(e.location, []).append(e)
    return [e for place, files in by_place.items() if _is_touched(place, files[0].seen) for e in files if _prefix_hash(e, e.bytes or 0) != e.sha256]


def _is_touched(location: str, seen: tuple[int, ...]) -> bool:
    try:
        return mark_of(place_of(location).stat()) != seen
    except OSError:
        return True


def _with_processes(evidence: list[Evidence], told: Told, known: Sequence[Evidence], gone: Collection[str | None]) -> list[Evidence]:
    """Adds process, told host and the order of rotated files."""
    live = [e for e in evidence if _is_live(e)]
    known = [k for k in known if _is_live(k) and k.sha256 not in gone]
    names = _process_names([*known, *live])
    groups: dict[str, list[Evidence]] = {}
    for e in live:
        groups.setdefault(e.process_id or names[id(e)], []).append(e)
    ordinals: dict[int, int] = {}
    for process, files in groups.items():
        ordinals.update(_ordinals(files, [k for k in known if k.process_id == process]))
    result = []
    for e in evidence:
        if e.status == READ:
            host = _said(told.hosts, e.path, e.location)
            owner = (e.process_id or names[id(e)]) if _is_live(e) else None
            e = replace(e, host=host, host_told=host is not None, process_id=owner, ordinal=ordinals.get(id(e)))
        result.append(e)
    return result


def with_hosts(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Adds the host of each file where the user told none: the folder that it lies in, or the ingested one where there are several.

    Args:
        evidence: all evidence of a case, for it is the same whatever was ingested first.
    """
    several_roots = len({e.root for e in evidence if _is_live(e)}) > 1
    result = []
    for e in evidence:
        if e.status == READ and not e.host_told:
            e = replace(e, host=host_of(e.below) or (Path(e.root).name if several_roots and e.kind == LOG else None))
        result.append(e)
    return result


def _is_live(evidence: Evidence) -> bool:
    """Whether a process wrote it: a log that is read."""
    return evidence.status == READ and evidence.kind == LOG


def _with_zone(evidence: Evidence, told: Told) -> Evidence:
    said = _said(told.time_zones, evidence.path, evidence.location)
    zone = Zone(said or "UTC")
    offset = next((m.offset_us for m in evidence.ends if m is not None and m.offset_us is not None), None)
    first, last = (None if m is None else zone.utc(m) for m in evidence.ends)
    return replace(
        evidence, time_zone=zone.name, time_zone_how="layout" if offset is not None else "told" if said else "assumed", first=first, last=last
    )


def _process_names(live: Sequence[Evidence]) -> dict[int, str]:
    """Process id of each file: its path without rotation, and as much of the folders above as tells it from others."""
    names: dict[int, str] = {}
    labels = _labels(live)
    streams: dict[str, dict[str, list[Evidence]]] = {}  # stream's name, then ingested folder
    for e in live:
        streams.setdefault(_stream_name(e, live), {}).setdefault(e.root, []).append(e)
    for name, roots in streams.items():
        one_process = len(roots) == 1 or ("/" in name and disjoint([(e.first, e.last) for files in roots.values() for e in files]))
        for root, files in roots.items():
            names.update((id(e), name if one_process else f"{labels[root]}/{name}") for e in files)
    return names


def _stream_name(evidence: Evidence, live: Sequence[Evidence]) -> str:
    name = read_name(evidence.below)
    if not name.weak:
        return name.base
    family = [e for e in live if e.root == evidence.root and read_name(e.below).base == name.base]
    has_base = any(e.below == name.base or not read_name(e.below).weak for e in family)
    return name.base if has_base and disjoint([(e.first, e.last) for e in family]) else evidence.below


def _ordinals(files: Sequence[Evidence], known: Sequence[Evidence]) -> dict[int, int]:
    """Places of a process's files; those that the case has keep theirs, new ones go between."""
    timed = all(e.first is not None for e in (*files, *known))

    def key(e: Evidence) -> tuple[object, ...]:
        return (e.first if timed else 0, *read_name(e.below).order, e.path)

    placed = sorted(((key(k), k.ordinal or 0) for k in known), key=lambda p: p[0])
    ordinals: dict[int, int] = {}
    for e in sorted(files, key=key):
        place = key(e)
        before = max((o for k, o in placed if k <= place), default=None)
        after = min((o for k, o in placed if k > place), default=None)
        if e.ordinal is not None:
            ordinal = e.ordinal
        elif before is None:
            ordinal = 0 if after is None else after - _ORDINAL_STEP
        else:
            ordinal = before + _ORDINAL_STEP if after is None else (before + after) // 2
        placed.append((place, ordinal))
        ordinals[id(e)] = ordinal
    return ordinals


def _said(entries: Iterable[tuple[str, str]], path: str, location: str) -> str | None:
    """What the last fitting entry says."""
    return next((value for glob, value in reversed(tuple(entries)) if fnmatchcase(path, glob) or fnmatchcase(location, glob)), None)


def _split(text: str, before: str = "") -> tuple[str, str]:
    """`GLOB=VALUE` or `VALUE` (for all files). What comes after one of `before` is no glob."""
    glob, equals, value = text.partition("=")
    if not equals or any(c in glob for c in before):
        return "*", text
    return glob, value
