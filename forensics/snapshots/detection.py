"""Detect by its content which kind of snapshot a file is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from math import ceil

from forensics.records.layout_detection import SAMPLE_BYTES
from forensics.snapshots.collected import is_collected, read_collected
from forensics.snapshots.command_output import read_tools
from forensics.snapshots.connect import KEY, is_answer, read_rest, read_topic
from forensics.snapshots.consumer_groups import is_header, is_notice
from forensics.snapshots.docker import is_docker, read_docker
from forensics.snapshots.ecs import is_ecs, read_ecs
from forensics.snapshots.gc_log import is_gc_log, read_gc_log
from forensics.snapshots.host_log import is_host_log, read_host_log
from forensics.snapshots.json_text import Documents
from forensics.snapshots.jvm_crash import is_jvm_crash, read_jvm_crash
from forensics.snapshots.kubernetes import is_kubernetes, read_kubernetes
from forensics.snapshots.log_segments import is_log_segment, read_log_segments
from forensics.snapshots.machine import RECORD
from forensics.snapshots.observation import Line, Reader
from forensics.snapshots.offsets_dump import read_dump
from forensics.snapshots.output_times import time_in_line
from forensics.snapshots.properties import is_properties, read_properties
from forensics.snapshots.source_offsets import is_source_record
from forensics.snapshots.thread_dump import is_thread_dump, read_thread_dump
from forensics.snapshots.transaction_log import is_transaction_log, read_transaction_log
from forensics.snapshots.transactions import table_of

(
    TOPICS,
    GROUPS,
    DUMP,
    STATUS_TOPIC,
    REST,
    PROPERTIES,
    GC_LOG,
    KUBERNETES,
    DOCKER,
    HOST_LOG,
    COLLECTED,
    JVM_CRASH,
    ECS,
    TRANSACTIONS,
    TRANSACTION_LOG,
    SEGMENTS,
    THREAD_DUMP,
) = (
    "topics_described",
    "groups_described",
    "offsets_dump",
    "connect_topic",
    "connect_rest",
    "properties",
    "gc_log",
    "kubernetes",
    "docker",
    "host_log",
    "collected",
    "jvm_crash",
    "ecs",
    "transactions_described",
    "transaction_log",
    "log_segments",
    "thread_dump",
)

#: Outputs of tools, whose times may be without a zone, or in the names of their files.
TOOLS = (TOPICS, GROUPS, TRANSACTIONS)
READERS: dict[str, Reader] = {
    TOPICS: read_tools, GROUPS: read_tools, DUMP: read_dump, STATUS_TOPIC: read_topic, REST: read_rest, PROPERTIES: read_properties,
    GC_LOG: read_gc_log, KUBERNETES: read_kubernetes, DOCKER: read_docker, HOST_LOG: read_host_log, COLLECTED: read_collected, JVM_CRASH: read_jvm_crash,
    ECS: read_ecs, TRANSACTIONS: read_tools, TRANSACTION_LOG: read_transaction_log, SEGMENTS: read_log_segments,
    THREAD_DUMP: read_thread_dump,
}  # fmt: skip
_TOPIC_LINE = re.compile(r"\s*Topic: ?\S+\s+(?:TopicId: ?\S*\s+)?(?:PartitionCount: ?\d+|Partition: ?\d+\s+Leader:)")
_DUMP_LINE = re.compile(
    r"Dumping \S.*__consumer_offsets-\d+|(?:\| )?offset: \d+ .* key: (?:(?:offset|metadata|offset_commit|group_metadata)::|\{\"(?:metadata|type)\")"
)
_FORMATTED = re.compile(
    r'\{"key":\{"(?:version|type)":"?\d+"?,"data":\{"group(?:Id)?":|\[[^\]\s,][^\]]*,[^\],]+,\d+\]::(?:OffsetAndMetadata\(offset=|\[OffsetMetadata\[|NULL$)'
)
_FIRST_LINES = 400
_RARE = 10


def kind_of(sample: bytes, *, fitting: int, lines: int) -> str | None:
    """Return the kind of a file; None if it is a log or anything else.

    Args:
        sample: its beginning as UTF-8; the last line may be truncated.
        fitting: number of its lines that look like records of a log.
        lines: number of lines that were examined.
    """
    first = list(islice(sample_lines(sample), _FIRST_LINES))
    texts = [line.text for line in first]
    if is_collected(texts):
        return COLLECTED
    if is_jvm_crash(texts):
        return JVM_CRASH
    is_log = RECORD.search(sample.decode("utf-8", "replace")) is not None
    # Their lines have times, so they look like records.
    if not is_log and is_gc_log(texts):
        return GC_LOG
    if is_kubernetes(texts):
        return KUBERNETES
    if is_docker(texts):
        return DOCKER
    if is_ecs(texts):
        return ECS
    if is_host_log(texts, is_whole=len(sample) < SAMPLE_BYTES and len(texts) < _FIRST_LINES):
        return HOST_LOG
    # A time above the output of a tool is no record.
    times = ceil(sum(time_in_line(t) is not None for t in texts) * lines / max(len(texts), 1))
    if (fitting - times) * _RARE > lines:
        return None
    if not is_log and is_thread_dump(texts):
        return THREAD_DUMP
    if any(_TOPIC_LINE.match(t) for t in texts):
        return TOPICS
    if any(is_header(t.rstrip()) or is_notice(t) for t in texts):
        return GROUPS
    if any(table_of(t) for t in texts):
        return TRANSACTIONS
    if any(is_transaction_log(t.strip()) for t in texts):
        return TRANSACTION_LOG
    if any(_DUMP_LINE.match(t) or _FORMATTED.match(t) for t in texts):
        return DUMP
    if any(is_log_segment(t.strip()) for t in texts):
        return SEGMENTS
    if _is_topic(texts):
        return STATUS_TOPIC
    if _is_rest(sample):
        return REST
    return PROPERTIES if is_properties(first) else None


def sample_lines(sample: bytes) -> Iterator[Line]:
    """Yield the lines of some bytes."""
    at = 0
    for number, raw in enumerate(sample.splitlines(keepends=True), 1):
        yield Line(number, at, raw, raw.decode("utf-8", "replace").rstrip("\r\n"))
        at += len(raw)


def _is_topic(texts: list[str]) -> bool:
    """Return True if most lines are records of Connect's topics; a log may quote single ones."""
    keyed = sum(1 for t in texts if KEY.match(t.strip()) or is_source_record(t.strip()))
    return keyed > 0 and keyed * 2 >= sum(1 for t in texts if t.strip())


def _is_rest(sample: bytes) -> bool:
    text = sample.decode("utf-8", "replace").lstrip("\ufeff")
    if "{" not in text[:20_000]:
        return False
    where = Documents(text)
    found = next(iter(where), None)
    return found is not None and len(where.between) <= 40 and is_answer(found[1])
