"""Copy a folder of evidence without names: the first pass reads all names, the second writes the files."""

from __future__ import annotations

import bz2
import errno
import gzip
import json
import lzma
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from forensics.catalogue.patterns import Catalogue, load
from forensics.catalogue.recogniser import Recogniser
from forensics.errors import EvidenceError, UsageError, reason_of
from forensics.evidence.containers import Content, Text, contents, place_of
from forensics.evidence.objects import Location
from forensics.evidence.streams import BROKEN
from forensics.inventory.evidence import LOG, READ, UNREADABLE, Evidence
from forensics.inventory.inventory import find_evidence
from forensics.inventory.source_options import SourceOptions
from forensics.records.layouts import Layouts, packaged
from forensics.records.line_reader import PlacedRecord, RecordLines, RecordReader, records_in, text_lines
from forensics.redact.copy_paths import copy_paths
from forensics.redact.machine import KINDS, names_in
from forensics.redact.pseudonyms import Pseudonyms, partition_of
from forensics.redact.records import NO_TEXT, NO_TEXT_BYTES, Collector, Counts, RecordRewriter
from forensics.redact.snapshots import SnapshotRewriter, observations
from forensics.redact.text import Names, Rewriter
from forensics.redact.vocabulary import Vocabulary, vocabulary_of
from forensics.scratch import unfinished

Step = Callable[[str, int, int], None]
_PARTITIONS = 50
_BLOCK = 1 << 20
_MAPPING_MODE = 0o600
_ABOUT = (
    "Pseudonyms of `forensics redact`. Anyone who has this file can reverse them. Pass it to `--mapping` again to give other evidence the same names."
)
#: Singular and plural of each kind in the summary, and the kinds of captures that it counts.
_KINDS_IN_WORDS = {
    ("group", "groups"): ("group",), ("host or address", "hosts and addresses"): ("host", "address"), ("connector", "connectors"): ("connector",), ("topic", "topics"): ("topic",),
    ("client id", "client ids"): ("client",), ("member id", "member ids"): ("member",), ("instance id", "instance ids"): ("instance",),
    ("user or database", "users and databases"): ("user",), ("rack", "racks"): ("rack",), ("cluster or topic id", "cluster and topic ids"): ("id",),
    ("transactional id", "transactional ids"): ("transaction",), ("source in merged files", "sources in merged files"): ("source",),
}  # fmt: skip
#: Errors of the disk, which affect every file: nothing is written then.
_OF_ALL_FILES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE})
#: Number of reasons that are printed if nothing could be copied.
_REASONS = 3


@dataclass
class Summary:
    """The result of a redaction.

    Attributes:
        files: number of files that were written.
        replaced: number of replaced names by kind, in words: `1 group`, `2 hosts and addresses`.
        counts: number of records by outcome.
        snapshots: outputs of tools that were written.
        left_out: files that are not in the copy, and the reasons.
        faults: path and reason of each file that could not be read, or not completely.
        unread: paths of those that could not be read at all.
        groups_moved: groups whose pseudonym belongs to another partition of __consumer_offsets.
    """

    files: int = 0
    replaced: list[str] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    snapshots: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    groups_moved: list[str] = field(default_factory=list)


def redact(
    source: Location,
    target: Path,
    *,
    mapping: Path | None = None,
    keep_unrecognised: bool = False,
    options: SourceOptions | None = None,
    parsers: Sequence[Path] = (),
    progress: Step = lambda step, done, total: None,
) -> Summary:
    """Write a copy of some evidence without names, completely or not at all.

    Args:
        source: a file or a folder, on this machine or in an object store.
        target: the folder to write; it must not exist, or be empty.
        mapping: file for names and pseudonyms; if it exists, its pseudonyms are used again.
        keep_unrecognised: keep the text of records that match no event, with every word replaced that is neither Kafka's nor plain English.
        options: the user's options for the evidence.
        parsers: folders of the user's own patterns.
        progress: called with the step, the bytes done and the total.

    Raises:
        UsageError: a path cannot be used.
        EvidenceError: no file can be copied.
    """
    _check(source, target, mapping)
    options = options or SourceOptions()
    found = find_evidence([source], options=options, progress=lambda done, total: progress("looking", done, total))
    before = _read_mapping(mapping)
    work = _Redaction(found, load(parsers), before, progress, keep_unrecognised=keep_unrecognised)
    work.collect()
    with unfinished(f".{target.name}.", target.resolve().parent) as stage:
        work.write(stage)
        work.compare(stage, options)
        _demand_some(source, work.summary)
        stage.chmod(0o755)
        if target.is_dir():
            target.rmdir()
        stage.rename(target)
    if mapping is not None:
        _write_mapping(mapping, work.mapping())
    return work.summary


def _demand_some(source: Location, summary: Summary) -> None:
    if summary.files:
        return
    left = list({**dict(summary.left_out), **dict(summary.faults)}.items())
    more = len(left) - _REASONS
    reasons = [f"{path}: {reason}" for path, reason in left[:_REASONS]] + ([f"{more} more"] if more > 0 else [])
    raise EvidenceError(
        f"Nothing in {source} can be copied.", why="; ".join(reasons) or "it contains no file", where=str(source),
        fix="Name a file or folder of logs, archives of them, or outputs of Kafka's tools.",
    )  # fmt: skip


def _check(source: Location, target: Path, mapping: Path | None) -> None:
    if isinstance(source, Path) and not source.exists():
        raise UsageError(f"There is no file or folder `{source}`.", where=str(source))
    whole = target.resolve()
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file.", why="the copy is a folder", where=str(target), fix="Name a folder that does not exist.")
    if target.exists() and any(target.iterdir()):
        raise UsageError(
            f"{target} is not empty.", why="the copy is written whole or not at all", where=str(target), fix="Name a folder that does not exist."
        )
    if not whole.parent.is_dir():
        raise UsageError(f"There is no folder {whole.parent}.", where=str(target))
    if isinstance(source, Path) and source.is_dir() and (whole == source.resolve() or source.resolve() in whole.parents):
        raise UsageError(f"{target} is inside the evidence.", where=str(target), fix="Name a folder outside the evidence.")
    if mapping is not None:
        file = mapping.resolve()
        if file == whole or whole in file.parents:
            raise UsageError(
                f"{mapping} is inside the copy.",
                why="it contains the names that the copy must not have",
                where=str(mapping),
                fix="Write it elsewhere.",
            )
        if not file.parent.is_dir():
            raise UsageError(f"There is no folder {file.parent}.", where=str(mapping))


def _read_mapping(mapping: Path | None) -> dict[str, Any] | None:
    if mapping is None or not mapping.exists():
        return None
    try:
        found = json.loads(mapping.read_text(encoding="utf-8"))
        why = "" if _is_mapping(found) else "it does not contain a key, words, addresses, uuids and names as `forensics redact` writes them"
    except (OSError, ValueError) as e:
        why = reason_of(e)
    if why:
        raise UsageError(
            f"{mapping} is not a mapping.", why=why, where=str(mapping), fix="Name a file that does not exist, or one that `forensics redact` wrote."
        )
    return cast("dict[str, Any]", found)


def _is_mapping(found: Any) -> bool:  # noqa: ANN401  (JSON)
    def texts(value: Any) -> bool:  # noqa: ANN401  (JSON)
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())

    if not isinstance(found, dict) or not re.fullmatch(r"(?:[0-9a-f]{2})+", str(found.get("key"))):
        return False
    names = found.get("names")
    return all(texts(found.get(part)) for part in ("words", "addresses", "uuids")) and isinstance(names, dict) and all(map(texts, names.values()))


def _write_mapping(mapping: Path, content: dict[str, Any]) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{mapping.name}.", dir=mapping.resolve().parent)
    try:
        os.fchmod(handle, _MAPPING_MODE)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, ensure_ascii=False, sort_keys=True)
            file.write("\n")
        Path(name).replace(mapping)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


class _Lines:
    """Lines of a text, with their line breaks.

    Attributes:
        broken_off: True if the line returned last has no line break.
    """

    def __init__(self, stream: Text) -> None:
        self._stream = stream
        self.broken_off = False

    def __iter__(self) -> Iterator[bytes]:
        held = b""
        while data := self._stream.read(_BLOCK):
            *whole, held = (held + data).split(b"\n")
            yield from (line + b"\n" for line in whole)
        if held:
            self.broken_off = True
            yield held


class _Redaction:
    def __init__(
        self, evidence: Sequence[Evidence], catalogue: Catalogue, mapping: dict[str, Any] | None, progress: Step, *, keep_unrecognised: bool
    ) -> None:
        self._evidence = [e for e in evidence if e.status == READ]
        self._progress, self._keep = progress, keep_unrecognised
        self._recogniser = Recogniser(catalogue)
        self._vocabulary: Vocabulary = vocabulary_of(catalogue)
        self._pseudonyms = Pseudonyms.of_mapping(self._vocabulary, mapping) if mapping else Pseudonyms(self._vocabulary)
        self._names = Names()
        self._keys = {key.rstrip("?") for event in catalogue.events for key in event.keys}
        self._literals = "\n".join(event.pattern.replace("\\", "") for event in catalogue.events)
        self._total = sum(e.text.size or 0 for e in self._evidence)
        self.summary = Summary(
            left_out=[(e.path, e.note or e.status) for e in evidence if e.status not in (READ, UNREADABLE)],
            faults=[(e.path, e.fault) for e in evidence if e.fault],
            unread={e.path for e in evidence if e.status == UNREADABLE},
        )
        self._written: dict[str, Evidence] = {}
        self._counts: dict[str, Counts] = {}
        #: For each file, by path: whether each of its records matches an event.
        self._known: dict[str, bytearray] = {}

    def _contents(self) -> Iterator[tuple[Evidence, Content]]:
        """Yield each file with its content; files of an archive in the archive's order."""
        by_place: dict[str, dict[str | None, Evidence]] = {}
        for e in self._evidence:
            by_place.setdefault(e.place.location, {})[e.place.member] = e
        for location, members in by_place.items():
            reason = "it no longer exists"
            try:
                for member, content in contents(place_of(location), frozenset(members)):
                    if member in members:
                        yield members.pop(member), content
            except BROKEN as e:
                reason = reason_of(e)
            for evidence in members.values():
                self._lose(evidence, reason)

    def _lose(self, evidence: Evidence, reason: str) -> None:
        """Record a file that cannot be read, and continue without it."""
        self._evidence = [e for e in self._evidence if e is not evidence]
        self.summary.faults.append((evidence.path, reason))
        self.summary.unread.add(evidence.path)

    def _reader(self, evidence: Evidence) -> RecordReader:
        layouts: Layouts = packaged().with_pattern(evidence.format.pattern) if evidence.format.pattern else packaged()
        return RecordReader(layouts, evidence.format.profile)

    def _can(self, evidence: Evidence) -> str:
        """Return the reason why a file cannot be rewritten; empty if it can."""
        profile = evidence.format.profile
        if evidence.format.kind == LOG and profile.document is not None:
            return "a JSON document that contains records: convert it to one record per line, for example with `jq -c '.[]'`"
        if evidence.format.kind == LOG and any(x.columns for x in profile.learned):
            return "rows of a table: export them as text"
        return ""

    def collect(self) -> None:
        """Read all names and choose pseudonyms."""
        collector = Collector(self._recogniser, self._names)
        done = 0
        for evidence, content in self._contents():
            if self._can(evidence):
                continue
            try:
                self._collect_file(collector, evidence, content)
            except Exception as e:  # a faulty file is reported and not copied
                self._lose(evidence, reason_of(e))
            done += evidence.text.size or 0
            self._progress("reading names", done, self._total)
        self._pseudonyms.keep_order(name for names in self._names.by_kind.values() for name in names)
        self._rewriter = Rewriter(self._pseudonyms, self._names, self._literals, self._keys)
        counts = self._names.offsets_partitions or {_PARTITIONS}
        groups = self._names.of("group")
        kept = self._pseudonyms.keep_partitions(groups, lambda g: self._rewriter.of_kind("group", g), sorted(counts))
        self.summary.groups_moved = [self._rewriter.of_kind("group", g) for g, same in kept.items() if not same]
        self._rewriter.learn()
        self._hosts = self._names.of("host", "source")
        self._paths = copy_paths((e.path for e in self._evidence), self._renamed)

    def _collect_file(self, collector: Collector, evidence: Evidence, content: Content) -> None:
        """Read the names in a file."""
        stream = Text(content, evidence.text.encoding)
        if evidence.format.kind == LOG:
            reader = self._reader(evidence)
            known = self._known[evidence.path] = bytearray()
            for found in records_in(text_lines(_Lines(stream), joined=reader.profile.joined), reader):
                if isinstance(found, PlacedRecord):
                    known.append(_collected(collector, reader, found.lines))
        else:
            for seen in observations(evidence.format.kind, _all(stream)):
                if evidence.format.kind not in KINDS or "columns" not in seen.captures:
                    collector.take_captures(seen.captures)
                    continue
                for name in names_in(seen.captures["columns"]):
                    self._names.add("host", name)

    def write(self, stage: Path) -> None:
        """Write all files into a folder."""
        done = 0
        for evidence, content in self._contents():
            reason = self._can(evidence)
            try:
                reason = reason or self._write_file(stage, evidence, content)
            except Exception as e:  # a faulty file is reported and not copied
                if isinstance(e, OSError) and e.errno in _OF_ALL_FILES:
                    raise
                reason = reason_of(e)
                (stage / self._paths[evidence.path]).unlink(missing_ok=True)
            if content.error and not evidence.fault:
                self.summary.faults.append((evidence.path, content.error))
            if reason:
                self.summary.left_out.append((evidence.path, reason))
            else:
                self.summary.files += 1
                self._written[self._paths[evidence.path]] = evidence
            done += evidence.text.size or 0
            self._progress("writing without names", done, self._total)
        numbers = {label: len(self._replaced(*kinds)) for label, kinds in _KINDS_IN_WORDS.items()}
        self.summary.replaced = [f"{number:,} {one if number == 1 else several}" for (one, several), number in numbers.items() if number]

    def _replaced(self, *kinds: str) -> dict[str, str]:
        return {name: new for kind in kinds for name in self._names.by_kind.get(kind, ()) if (new := self._rewriter.of_kind(kind, name)) != name}

    def _write_file(self, stage: Path, evidence: Evidence, content: Content) -> str:
        """Write a file; return the reason if it cannot be written."""
        stream = Text(content, evidence.text.encoding)
        path = stage / self._paths[evidence.path]
        if evidence.format.kind != LOG:
            new = SnapshotRewriter(self._rewriter, self._recogniser.catalogue.fields).rewrite(evidence.format.kind, _all(stream))
            if new is None:
                return "replacing names would change its meaning"
            path.parent.mkdir(parents=True, exist_ok=True)
            with _opened(path, content) as file:
                file.write(new)
            self.summary.snapshots += 1
            return ""
        records = RecordRewriter(self._reader(evidence), self._recogniser, self._rewriter, keep_unrecognised=self._keep)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = _Lines(stream)
        with _opened(path, content) as file:
            held = None
            for line in records.lines(lines, self._known.get(evidence.path, b"")):
                if held is not None:
                    file.write(held + b"\n")
                held = line.removesuffix(NO_TEXT).encode("utf-8", "replace") + NO_TEXT_BYTES * line.endswith(NO_TEXT)
            if held is not None:
                file.write(held if lines.broken_off else held + b"\n")
        if not records.counts.records:
            path.unlink()
            return "it contains no log record"
        self._counts[evidence.path] = records.counts
        return ""

    def _renamed(self, part: str) -> str:
        """Return the name of a folder or file in the copy. Names in it are replaced; what distinguishes kinds of logs and rotated files stays."""
        return self._rewriter.of_kind("host", part) if part in self._hosts else self._rewriter.file_name(part)

    def compare(self, stage: Path, options: SourceOptions) -> None:
        """Remove files that are not recognised as what they were before."""
        for e in find_evidence([stage], options=options):
            old = self._written.get(e.path)
            if old is None or e.status != READ or e.format.kind != old.format.kind:
                now = e.note or e.status if e.status != READ else f"it is read as {e.format.kind}, not {old.format.kind if old else 'anything'}"
                self._drop(stage, e.path, now)
        for counts in self._counts.values():
            self.summary.counts.add(counts)

    def _drop(self, stage: Path, path: str, why: str) -> None:
        """Remove a file from the copy."""
        (stage / path).unlink(missing_ok=True)
        old = self._written.pop(path, None)
        self.summary.files -= 1
        if old:
            self._counts.pop(old.path, None)
            self.summary.snapshots -= old.format.kind != LOG
        self.summary.left_out.append((old.path if old else path, f"with names replaced, it is no longer recognised as what it was ({why})"))

    def mapping(self) -> dict[str, Any]:
        """Return names and pseudonyms, and the key."""
        names = {kind: dict(known) for kind, known in self._pseudonyms.kinds.items()}
        for kind in sorted(self._names.by_kind):
            names.setdefault(kind, {}).update(sorted(self._replaced(kind).items()))
        groups = {g: {"pseudonym": self._rewriter.of_kind("group", g), "partition": {str(n): partition_of(g, n) for n in sorted(self._names.offsets_partitions or {_PARTITIONS})}}
                  for g in sorted(self._names.of("group"))}  # fmt: skip
        return {
            "about": _ABOUT, "key": self._pseudonyms.key.hex(), "words": self._pseudonyms.words, "addresses": self._pseudonyms.addresses, "uuids": self._pseudonyms.uuids, "names": names,
            "groups": groups, "files": {e.path: path for path, e in self._written.items()},
        }  # fmt: skip


def _collected(collector: Collector, reader: RecordReader, whole: RecordLines) -> bool:
    """Collect the names of a record; return True if it matches an event."""
    try:
        return collector.collect(reader.finish(whole.start, whole.texts))
    except Exception:  # the record is withheld
        return False


def _all(stream: Text) -> bytes:
    parts = []
    while data := stream.read(_BLOCK):
        parts.append(data)
    return b"".join(parts)


@contextmanager
def _opened(path: Path, content: Content) -> Iterator[BinaryIO]:
    """Open a file for writing, compressed as its name says. A gzip file is left truncated if the content was not read to its end."""
    cut = None
    with _compressed(path) as file:
        yield file
        if content.error and isinstance(file, gzip.GzipFile) and file.fileobj is not None:
            file.flush(zlib.Z_SYNC_FLUSH)  # the file is readable up to this point, and its end is missing
            cut = file.fileobj.tell()
    if cut is not None:
        os.truncate(path, cut)


def _compressed(path: Path) -> BinaryIO:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(path, "wb", mtime=0))
    if suffix == ".bz2":
        return cast("BinaryIO", bz2.open(path, "wb"))
    return cast("BinaryIO", lzma.open(path, "wb")) if suffix == ".xz" else path.open("wb")
