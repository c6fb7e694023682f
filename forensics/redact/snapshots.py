"""Rewrite outputs of tools, REST answers and properties without names.

Because they have formats of their own, a rewritten file is read again as a whole. Its observations must differ only in names, or it is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from forensics.extract.single_readers import SnapshotReader
from forensics.records.line_reader import decode
from forensics.redact import machine
from forensics.redact.assignment_bytes import rewritten_base64, rewritten_hex
from forensics.redact.records import WITHHELD, kind_of
from forensics.redact.text import Rewriter
from forensics.redaction import hide, hide_line, scrub
from forensics.schema import Field
from forensics.snapshots import log_segments, transaction_log
from forensics.snapshots.connect import KEY
from forensics.snapshots.consumer_groups import is_header
from forensics.snapshots.detection import GROUPS, PROPERTIES, SEGMENTS, THREAD_DUMP, TOPICS, TRANSACTION_LOG, TRANSACTIONS
from forensics.snapshots.observation import Observation

_PROPERTY = re.compile(r"(?P<before>\s*)(?P<key>[^\s=:#!]+)(?P<equals>\s*[=:]\s*|\s+)(?P<value>.*)")
_LITERAL = re.compile(r'(?<!\\)"(?P<text>(?:[^"\\]|\\.)*+)"(?P<colon>\s*:(?!:))?')
_TOKEN = re.compile(r"\S+")
_PARTS = re.compile(r"[^\s,;=\[\](){}\"':]+")
_MEMBER = re.compile(r"(?P<before>^\{|,)(?P<member>[^=,{}]+)=(?P<assigned>\[[^\[\]]*\](?::[0-9A-F]*)?|[0-9A-F]*)(?=,|\}$)")
_HEX = re.compile(r"(?<=\]:)[0-9A-F]{8,}(?=[,}])|(?<==)[0-9A-F]{8,}(?=[,}])")
#: Kinds of names in JSON, by key.
_KINDS = {
    "name": "connector", "connector": "connector", "group": "group", "groupId": "group", "group.id": "group", "worker_id": "address", "leader": "member", "memberId": "member",
    "clientId": "client", "clientHost": "host", "topic": "topic", "topicName": "topic", "instanceId": "instance", "groupInstanceId": "instance",
    "kafka_cluster_id": "id", "topicId": "id", "rackId": "rack", "commit": "public", "version": "public", "subscribedTopicNames": "topic",
}  # fmt: skip
_IN_BYTES = ("subscription", "assignment")
#: Keys of Connect's and Kafka's own objects, which cannot be names of connectors.
_RESERVED = {
    "name", "config", "tasks", "connector", "status", "info", "type", "id", "state", "worker_id", "trace", "topics", "version", "commit", "kafka_cluster_id", "task", "key",
    "value", "data", "generation", "metadata", "properties", "class", "topic", "partition", "offset", "group", "payload", "error_code", "message", "configs", "plugins",
}  # fmt: skip
_KEYED = {"connector-": "connector", "status-connector-": "connector", "commit-": "connector", "target-state-": "connector", "task-": "task", "status-task-": "task",
          "tasks-fencing-": "connector", "restart-connector-": "connector"}  # fmt: skip


def observations(kind: str, content: bytes) -> Iterator[Observation]:
    """Yield the observations of a snapshot."""
    yield from SnapshotReader(kind).observations(BytesIO(content))


class SnapshotRewriter:
    """A rewriter of snapshots.

    Args:
        rewriter: rewriter of names and text.
        fields: the captures.
    """

    def __init__(self, rewriter: Rewriter, fields: Mapping[str, Field]) -> None:
        self._rewriter, self._fields = rewriter, fields
        self._exact = rewriter.exact()

    def rewrite(self, kind: str, content: bytes) -> bytes | None:
        """Return a snapshot without names; None if its observations would not be the same."""
        if kind in machine.KINDS:
            result = machine.MachineRewriter(self._rewriter).rewrite(kind, content)
            return result if self._same(kind, content, result) else None
        lines = content.split(b"\n")
        key = ""
        new: list[str] = []
        for raw in lines:
            text = decode(raw)
            if kind == PROPERTIES:
                new.append(self._property(text))
            elif kind in (GROUPS, TRANSACTIONS):
                new.append(self._row(text))
            elif kind == TRANSACTION_LOG and not text.startswith("{"):
                new.append(self._state_line(text))
            elif kind == SEGMENTS:
                new.append(self._segment_line(text))
            elif kind == TOPICS:
                new.append(self._topic_line(text))
            else:
                text, key = self._line(text, key)
                new.append(text)
        result = "\n".join(new).encode()
        return result if self._same(kind, content, result) else None

    def _same(self, kind: str, old: bytes, new: bytes) -> bool:
        before, after = list(observations(kind, old)), list(observations(kind, new))
        if len(before) != len(after):
            return False
        if kind in machine.KINDS and kind != THREAD_DUMP:
            return all(_of_machine(a) == _of_machine(b) for a, b in zip(before, after, strict=True))
        return all(self._without_names(a) == (b.event, b.ts, b.line, dict(b.captures)) for a, b in zip(before, after, strict=True))

    def _without_names(self, seen: Observation) -> tuple[Any, ...]:
        captures = {}
        for name, value in seen.captures.items():
            kind = kind_of(self._fields, name)
            captures[name] = value if kind is None else self._rewriter.value(kind, value)
        return seen.event, seen.ts, seen.line, captures

    def _property(self, text: str) -> str:
        found = _PROPERTY.fullmatch(text)
        if not text.strip() or found is None:
            return text if not text.strip() else f"# {WITHHELD}" if text.lstrip().startswith(("#", "!")) else self._rewriter.running(hide_line(text))
        return f"{found['before']}{self._rewriter.setting_key(found['key'])}{found['equals']}{self._rewriter.setting(found['key'], found['value'])}"

    def _row(self, text: str) -> str:
        """Rewrite a row of a table: the text after a name stays in its column if there is room."""
        if is_header(text.rstrip()):
            return text
        result = ""
        for found in _TOKEN.finditer(text):
            # Two blanks separate the parts of a header of `watch`.
            blanks = len(text[: found.start()]) - len(text[: found.start()].rstrip())
            result = result.ljust(max(found.start(), len(result) + min(blanks, 2)))
            result += self._parts(found[0])
        return result

    def _state_line(self, text: str) -> str:
        """Rewrite a line of a dump of __transaction_state."""
        names = list(transaction_log.names_in(text))
        if not names:
            return self._line(text, "")[0]
        result, at = "", 0
        for begin, end, capture in names:
            result += text[at:begin] + self._rewriter.value(kind_of(self._fields, capture) or "words", text[begin:end])
            at = end
        return result + text[at:]

    def _segment_line(self, text: str) -> str:
        """Rewrite a line of a dump of a segment, without keys, values and headers of records, which may contain line breaks."""
        if dumping := log_segments.DUMPING.match(text):
            partition = self._rewriter.value(kind_of(self._fields, "partition") or "partition", f"{dumping['topic']}-{dumping['number']}")
            return f"Dumping {partition}/{dumping['base']}.{dumping['kind']}"
        if not text.startswith(("baseOffset: ", "| offset: ", "offset: ", "producerId: ", "Log starting offset: ", "Starting offset: ")):
            return ""
        head, is_record, rest = re.split(r" (?:key|payload): ", text, maxsplit=1)[0].partition(" headerKeys: [")
        marker = re.search(r"\] endTxnMarker: .*", rest)
        return head + (f" headerKeys: [{marker[0] if marker else ']'}" if is_record else "")

    def _topic_line(self, text: str) -> str:
        """Rewrite a line of `kafka-topics --describe`; settings follow `Configs:`."""
        facts, label, settings = text.partition("Configs:")
        facts = re.sub(r"\S+", lambda m: self._topic_fact(facts, m), facts)
        return (
            facts
            + label
            + re.sub(r"(?<![\w.])([\w.]++)=([^,\s]*)", lambda m: f"{self._rewriter.setting_key(m[1])}={self._rewriter.setting(m[1], m[2])}", settings)
        )

    def _topic_fact(self, text: str, found: re.Match[str]) -> str:
        before = text[: found.start()].rstrip()
        kind = "topic" if before.endswith("Topic:") else "id" if before.endswith("TopicId:") else None
        return self._rewriter.of_kind(kind, found[0]) if kind and not found[0].endswith(":") else self._rewriter.running(found[0], numbers=True)

    def _parts(self, text: str) -> str:
        """Rewrite a text of which each part may be a name."""
        known = self._exact.get(text)
        if known is not None:
            return known
        if any(m[0] in self._exact for m in _PARTS.finditer(text)):
            return _PARTS.sub(lambda m: self._exact[m[0]] if m[0] in self._exact else self._rewriter.running(m[0], numbers=True), text)
        return self._rewriter.running(text, numbers=True)

    def _line(self, text: str, key: str) -> tuple[str, str]:
        """Rewrite a line of output that may contain JSON."""
        parts: list[str] = []
        at = 0
        keyed = KEY.match(text)
        if keyed and (kind := _KEYED.get(keyed["kind"])):
            parts.append(self._parts(text[: keyed.start("name")]))
            parts.append(self._rewriter.of_kind(kind, keyed["name"]))
            at = keyed.end("name")
        for found in _LITERAL.finditer(text, at):
            parts.append(self._between(text[at : found.start()]))
            at = found.end()
            if found["colon"]:
                key = _decoded(found["text"])
                parts.append(f"{_encoded(self._key(key))}{found['colon']}")
            else:
                parts.append(_encoded(self._value(key, _decoded(found["text"]))))
        parts.append(self._between(text[at:]))
        return "".join(parts), key

    def _old_assignment(self, value: str) -> str:
        """Rewrite assignments of releases up to 3.7: `{member=[t-0, t-1]}`, or `{member=...}` in hexadecimals."""
        return _MEMBER.sub(lambda m: f"{m['before']}{self._rewriter.of_kind('member', m['member'])}={self._assigned(m['assigned'])}", value)

    def _assigned(self, text: str) -> str:
        if not text.startswith("["):
            return rewritten_hex(text, self._rewriter.of_kind) if text else text
        listed, _, data = text[1:].partition("]")
        return f"[{', '.join(self._rewriter.of_kind('partition', item) if item else item for item in listed.split(', '))}]{':' * bool(data)}"

    def _between(self, text: str) -> str:
        if not text.strip(" \t{}[]:,"):
            return text
        if "[" in text or "=" in text:
            text = _HEX.sub(lambda m: rewritten_hex(m[0], self._rewriter.of_kind), text)
        return re.sub(r"\S+", lambda m: self._parts(m[0]), scrub(text))

    def _key(self, key: str) -> str:
        if key in _RESERVED:
            return key
        if key in self._exact:
            return self._exact[key]
        return self._rewriter.setting_key(key)

    def _value(self, key: str, value: str) -> str:
        if key in _IN_BYTES:
            return self._old_assignment(value) if value.startswith("{") else rewritten_base64(value, self._rewriter.of_kind)
        kind = _KINDS.get(key)
        if kind is not None:
            value = hide(key, value)
            return self._rewriter.of_kind(kind, value) if value not in ("", "null") else value
        if "\n" in value:
            return "\n".join(self._rewriter.frames(scrub(value).split("\n")))
        return self._rewriter.setting(key, value)


def _of_machine(seen: Observation) -> tuple[Any, ...]:
    return seen.event, seen.ts, seen.line, machine.comparable(seen.captures["columns"])


def _decoded(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _encoded(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
