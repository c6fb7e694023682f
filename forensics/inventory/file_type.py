"""Recognise logs; for any other file, guess its type for its note."""

from __future__ import annotations

import json
import re

from forensics.records.kafka_words import kafka_words
from forensics.records.line_reader import Profile

_LOG_NAME = re.compile(r"\.(?:log|out)(?:$|[.\-_0-9])|(?:^|/)(?:stdout|stderr|console|messages|syslog)[^/]*$", re.IGNORECASE)
_CONTROL = bytes(set(range(32)) - {9, 10, 11, 12, 13, 27}) + b"\x7f"
_KINDS = (
    ("output of kafka-topics --describe", re.compile(rb"^[^\S\n]*Topic: ?\S+\s+(?:TopicId|PartitionCount|Partition):", re.MULTILINE)),
    ("output of kafka-consumer-groups --describe", re.compile(rb"^GROUP +(?:TOPIC|CONSUMER-ID|COORDINATOR|ASSIGNMENT)", re.MULTILINE)),
    ("output of kafka-dump-log", re.compile(rb"^(?:Dumping /|\| offset: |baseOffset: )", re.MULTILINE)),
    ("a thread dump", re.compile(rb"^Full thread dump |^\"[^\"]+\" #[0-9]+ ", re.MULTILINE)),
    ("XML", re.compile(rb"\A\s*<(?:\?xml|[a-zA-Z][\w:-]*[ >/])")),
    (
        "properties",
        re.compile(rb"\A(?:[^\S\n]*(?:[#!][^\n]*)?\n)*+[^\S\n]*[\w.-]+ *[=:][^\n]*\n(?:(?:[#!][^\n]*|[\w.-]+ *[=:][^\n]*|[^\S\n]*)(?:\n|\Z)){2}"),
    ),
    ("YAML", re.compile(rb"\A(?:(?:#[^\n]*|[^\S\n]*)\n)*+(?:---|[\w./-]+:(?: [^\n]*)?\n)")),
)
#: First bytes of archive and compression formats that are not supported.
_PACKED = (
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x1f\x9d", "a file packed by compress (.Z)"),
    (b"\x1f\xa0", "a file packed by compress (.Z)"),
    (b"LZIP", "a file packed by lzip"),
    (b"\x89LZO\0\r\n\x1a\n", "a file packed by lzop"),
    (b"MSCF\0\0\0\0", "a cabinet archive"),
    (b"\xff\6\0\0sNaPpY", "a file packed by Snappy"),
    (b"\x02\x21\x4c\x18", "a file packed by an old lz4"),
    (b"070701", "a cpio archive"),
    (b"070707", "a cpio archive"),
    (b"!<arch>\n", "an ar archive or a Debian package"),
)
_MARKDOWN = re.compile(r"\.(?:md|markdown)$", re.IGNORECASE)
_RARE, _THIRD = 50, 3
#: A record without a time: of Python's `logging.basicConfig()`, perhaps behind the name of its container, or one that ends with the class that wrote it,
#: as those of Kafka's own programs do.
_WITH_LOGGER = re.compile(
    rb"^[ \t>]{0,40}(?:[A-Za-z0-9_.-]{1,60} {1,40}\| )?(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[A-Za-z_][A-Za-z0-9_.]{0,100}:"
    rb"|(?:DEBUG|INFO|WARN|ERROR|FATAL) [^\r\n]{1,4000} \((?:[a-z][a-z0-9_]{0,40}\.){2,12}[A-Z][A-Za-z0-9_$]{0,80}(?::[0-9]{1,6})?\)[ \t\r]{0,9}$)",
    re.MULTILINE,
)

#: The language of a block of code, an HTML tag, or a frame of a stack trace.
_NO_CONTENT = re.compile(r"(?:[a-z]{1,10}|</?[a-z][^>]*>.*|at \S+\(.*|\.\.\. ?\d+ more)$")


def is_binary(sample: bytes) -> bool:
    """Return True if bytes are not text: more than 10 % are control characters, or more than 3 % are and more than 20 % are not UTF-8.

    Args:
        sample: bytes without file holes.
    """
    if not sample:
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROL))
    if controls > len(sample) // 10:
        return True
    return controls > len(sample) // 30 and sample.decode("utf-8", "replace").count("\ufffd") > len(sample) // 5


def packed_as(head: bytes) -> str:
    """Return the type of an unsupported archive or compressed file, and what to do with it; an empty string for any other file."""
    kind = next((kind for mark, kind in _PACKED if head.startswith(mark)), "")
    return f"{kind}, which is not supported: unpack it and ingest its content" if kind else ""


def is_log(path: str, sample: bytes, profile: Profile) -> bool:
    """Return True if a file should be read as a log, by its name or its lines."""
    if is_binary(sample):
        return False
    if _LOG_NAME.search(path):
        return True
    # Prose looks like messages without times, but not like those with a level and a logger, or with the times of a collector.
    if _MARKDOWN.search(path) and profile.untimed and not profile.collected and (profile.learned or not _WITH_LOGGER.search(sample)):
        return _is_paste(sample)
    if profile.document is not None or any(x.columns for x in profile.learned):
        return True
    if profile.json and profile.fitting * 2 > profile.lines:
        return True
    return profile.fitting > 0 and profile.fitting * _RARE >= profile.lines and not _is_json_document(sample)


def _is_paste(sample: bytes) -> bool:
    """Return True if at least a third of the lines of a Markdown file are Kafka's messages: a paste with a few words about it, not documentation."""
    words = kafka_words()
    lines = [text for raw in sample.split(b"\n") if (text := raw.decode("utf-8", "replace").strip("`*> \t\r")) and not _NO_CONTENT.match(text)]
    signs = [words.sign(name) for name in ("own", "client's words")]
    begins = words.sign("begins a message")
    found = sum(bool(begins.match(t) or any(s.search(t) for s in signs) or _WITH_LOGGER.match(t.encode())) for t in lines)
    return found > 0 and found * _THIRD >= len(lines)


def looks_like(path: str, sample: bytes) -> str:
    """Return a few words on the type of a file that is not read."""
    if is_binary(sample):
        return "binary"
    if _is_json_document(sample) or (path.endswith(".json") and sample.lstrip()[:1] in (b"{", b"[")):
        return "looks like JSON"
    if _MARKDOWN.search(path):
        return "looks like Markdown"
    head = sample[:16_384]
    kind = next((name for name, pattern in _KINDS if pattern.search(head)), None)
    return f"looks like {kind}" if kind else "no line looks like a log record"


def _is_json_document(sample: bytes) -> bool:
    """Return True if the sample is one JSON value over several lines, or one line that is not a record."""
    text = sample.strip()
    if text[:1] not in (b"{", b"["):
        return False
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text[:1] == b"[" and text[1:2] in (b"\n", b"{", b"]")
    return not isinstance(found, dict) or not {"message", "msg", "log", "short_message"} & found.keys()
