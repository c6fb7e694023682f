"""Read `kafka-dump-log --offsets-decoder` of a partition of `__consumer_offsets`, of every release.

Keys: `metadata::G` and `offset::G:topic:0` (0.9 to 1.0; the latter until 2.4), `{"metadata":"G"}` (1.1 to 2.4), `group_metadata::group=G` and
`offset_commit::group=G,partition=t-0` (2.5 to 3.7), `{"type":"2","data":{...}}` (from 3.8: the record's type and its fields by name, including those
of KIP-848 groups). Also the output of the console consumer's formatters since 3.8: one JSON object with `key` and `value` per line.

Only the last commit of each group and partition is kept, because a partition of the topic contains millions.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from forensics.catalogue.embedded_protocol import decode_assignment_bytes, decode_connect_url
from forensics.snapshots.observation import Item, Line, Observation, Strange, moment_of

_DUMPING = re.compile(r"Dumping .*?__consumer_offsets-(\d+)")
_RECORD = re.compile(r"(?:\| )?offset: (\d+)\s")
_OTHER = re.compile(
    r"Dumping |(?:Log s|S)tarting offset: |baseOffset: |Found \d+ invalid bytes|Mismatches in|Non-(?:con)?secutive offsets|  (?:\d+ is followed|Index)"
)
_TIME = re.compile(r"\b(?:CreateTime|LogAppendTime): (-?\d+)")
_KEY = re.compile(r" key: (.*?)(?: payload: (.*))?$", re.DOTALL)
_COMMIT = re.compile(
    r"offset_commit::group=(?P<group>.*),partition=(?P<partition>[^,]+-\d+)$|offset::(?P<old_group>.*):(?P<topic>[^:]+):(?P<number>\d+)$"
)
_COMMITTED = re.compile(r"(?:offset=)?(-?\d+)(?:[,:].*)?$")
_OLD_METADATA = re.compile(r"(?P<type>[^:]*):(?P<protocol>[^{}]*?):(?P<generation>-?\d+):(?P<assignment>\{.*\})$", re.DOTALL)
_MEMBER = re.compile(r"(?:^\{|,)(?P<member>[^=,{}]+)=(?P<assigned>\[[^\[\]]*\](?::[0-9A-F]*)?|[0-9A-F]*)(?=,|\}$)")
_DELETED = {"<DELETE>", "null", None}
_LEADING_ZEROS = 7
#: Kinds of records, by the type of their key.
_TYPES = {0: "offset", 1: "offset", 2: "group", 3: "group", 6: "target_epoch", 5: "member", 7: "target", 8: "current"}


class OffsetsDump:
    """A reader of records, one by one, which yields the last commits at the end."""

    def __init__(self) -> None:
        self._commits: dict[tuple[str, str], Observation] = {}
        self._partition: int | None = None
        self._ts: int | None = None

    def read(self, lines: Iterable[Line]) -> Iterator[Item]:
        for line in lines:
            text = line.text.strip()
            if not text or moment_of(text) is not None:
                continue
            if dumping := _DUMPING.match(text):
                self._partition = int(dumping[1])
            elif _RECORD.match(text) or text.startswith(("key: ", "| key: ")):
                yield from self._record(line, text)
            elif text.startswith("{") and '"key"' in text:
                yield from self._formatted(line, text)
            elif not _OTHER.match(text):
                yield Strange(line.number, text)
        yield from self._commits.values()

    def _record(self, line: Line, text: str) -> Iterator[Item]:
        key = _KEY.search(" " + text)
        self._ts = _micros(_TIME.search(text))
        if key is None:
            return  # control records, and tombstones up to 2.4
        name, payload = key[1].strip(), key[2]
        if commit := _COMMIT.match(name):
            partition = commit["partition"] or f"{commit['topic']}-{commit['number']}"
            offset = _COMMITTED.match(payload or "")
            self._commit(line, commit["group"] or commit["old_group"], partition, int(offset[1]) if offset else None)
        elif name.startswith("metadata::"):
            yield from self._old_metadata(line, name.removeprefix("metadata::"), payload)
        elif name.startswith("group_metadata::group="):
            yield from self._text_metadata(line, name.removeprefix("group_metadata::group="), payload)
        elif name.startswith("{"):
            yield from self._json(line, name, payload)
        elif not name.startswith("unknown::"):
            yield Strange(line.number, text)

    def _json(self, line: Line, name: str, payload: str | None) -> Iterator[Item]:
        try:
            key, value = json.loads(name), None if payload in _DELETED else json.loads(payload or "null")
        except (ValueError, RecursionError):
            yield Strange(line.number, line.text)
            return
        if isinstance(key.get("metadata"), str):
            yield from self._text_metadata(line, key["metadata"], payload)
        elif isinstance(key.get("data"), dict):
            yield from self._typed(line, _number(key.get("type")), key["data"], _data(value))

    def _formatted(self, line: Line, text: str) -> Iterator[Item]:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            yield Strange(line.number, text)
            return
        key = row.get("key")
        if isinstance(key, dict) and isinstance(key.get("data"), dict):
            self._ts = None
            yield from self._typed(line, _number(key.get("type", key.get("version"))), key["data"], _data(row.get("value")))

    def _commit(self, line: Line, group: str, partition: str, offset: int | None, data: Mapping[str, Any] | None = None) -> None:
        committed = (data or {}).get("commitTimestamp")
        captures = {
            "group_id": group,
            "partition": partition,
            "topic": partition.rpartition("-")[0],
            "offset": offset,
            "offsets_partition": self._partition,
        }
        ts = self._ts if self._ts is not None else committed * 1000 if isinstance(committed, int) and committed > 0 else None
        message = f"{group} committed {partition} at {offset}" if offset is not None else f"{group}'s commit of {partition} was removed"
        self._commits[group, partition] = Observation.of(line, "offset_stored" if offset is not None else "offset_removed", captures, ts, message)

    def _old_metadata(self, line: Line, group: str, payload: str | None) -> Iterator[Item]:
        found = _OLD_METADATA.match(payload or "")
        if found is None and payload not in _DELETED:
            yield Strange(line.number, line.text)
            return
        value = None
        if found:
            value = {
                "protocolType": found["type"],
                "protocol": found["protocol"],
                "generationId": int(found["generation"]),
                "assignment": found["assignment"],
            }
        yield from self._metadata(line, group, value)

    def _text_metadata(self, line: Line, group: str, payload: str | None) -> Iterator[Item]:
        try:
            value = None if payload in _DELETED else json.loads(payload or "null")
        except (ValueError, RecursionError):
            yield Strange(line.number, line.text)
            return
        yield from self._metadata(line, group, value)

    def _metadata(self, line: Line, group: str, value: Mapping[str, Any] | None) -> Iterator[Item]:
        """Yield a group's metadata as 0.9 to 3.7 print it: only members and their assignments."""
        if value is None:
            yield self._group(line, group, {}, removed=True)
            return
        members = {m["member"]: _assigned_text(m["assigned"]) for m in _MEMBER.finditer(str(value.get("assignment") or ""))}
        generation = _number(value.get("generationId"))
        yield self._group(line, group, {
            "protocol_type": value.get("protocolType") or None, "protocol": value.get("protocol") or None, "generation": generation,
            "member_count": len(members), "leader_member_id": next((a["leader_member_id"] for a in members.values() if "leader_member_id" in a), None),
        })  # fmt: skip
        for member, assigned in members.items():
            yield self._member(line, group, member, {"generation": generation, **assigned})

    def _typed(self, line: Line, kind: int | None, key: Mapping[str, Any], value: Mapping[str, Any] | None) -> Iterator[Item]:
        """Yield a record as 3.8 and later print it. Unknown types are read by their field names, which are the same for all group types."""
        group = key.get("group", key.get("groupId"))
        if not isinstance(group, str):
            return
        if "topic" in key and "partition" in key:
            self._commit(line, group, f"{key['topic']}-{key['partition']}", _number((value or {}).get("offset")), value)
        elif kind == 2:
            yield from self._classic(line, group, value)
        elif "memberId" in key:
            yield self._epoch_member(line, group, str(key["memberId"]), _TYPES.get(kind or -1, str(kind)), value)
        elif value is None:
            yield self._group(line, group, {"columns": {"RECORD": _TYPES.get(kind or -1, str(kind))}}, removed=kind == 3)
        elif "epoch" in value or "assignmentEpoch" in value:
            columns = {"RECORD": _TYPES.get(kind or -1, str(kind))}
            if "assignmentEpoch" in value:
                columns["TARGET-ASSIGNMENT-EPOCH"] = str(value["assignmentEpoch"])
            yield self._group(line, group, {"generation": _number(value.get("epoch")), "columns": columns})

    def _classic(self, line: Line, group: str, value: Mapping[str, Any] | None) -> Iterator[Item]:
        if value is None:
            yield self._group(line, group, {}, removed=True)
            return
        members = [m for m in value.get("members") or () if isinstance(m, dict)]
        since, generation = _number(value.get("currentStateTimestamp")), _number(value.get("generation"))
        yield self._group(line, group, {
            "protocol_type": value.get("protocolType") or None, "protocol": value.get("protocol"), "generation": generation,
            "leader_member_id": value.get("leader"), "member_count": len(members), "columns": {"STATE-SINCE": str(since)} if since and since > 0 else {},
        })  # fmt: skip
        for member in members:
            subscription = member.get("subscription")
            host = str(member.get("clientHost") or "").lstrip("/")
            yield self._member(line, group, str(member.get("memberId")), {
                "generation": generation, "group_instance_id": member.get("groupInstanceId"), "client_id": member.get("clientId"), "client_host": host or None,
                "rebalance_timeout_ms": _number(member.get("rebalanceTimeout")), "session_timeout_ms": _number(member.get("sessionTimeout")),
                "topics": subscription.get("topics") if isinstance(subscription, dict) else None,
                "worker_url": decode_connect_url(_bytes(subscription)) if isinstance(subscription, str) else None,
                **_assigned_json(member.get("assignment")),
            })  # fmt: skip

    def _epoch_member(self, line: Line, group: str, member: str, what: str, value: Mapping[str, Any] | None) -> Observation:
        if value is None:
            return self._member(line, group, member, {"columns": {"RECORD": what}}, event="member_removed")
        host = str(value.get("clientHost") or "").lstrip("/")
        assigned = value.get("assignedPartitions", value.get("topicPartitions"))
        revoking = value.get("partitionsPendingRevocation")
        columns = {"RECORD": what}
        if "state" in value:
            columns["MEMBER-STATE"] = str(value["state"])
        if "previousMemberEpoch" in value:
            columns["PREVIOUS-EPOCH"] = str(value["previousMemberEpoch"])
        return self._member(line, group, member, {
            "member_epoch": _number(value.get("memberEpoch")), "group_instance_id": value.get("instanceId"), "client_id": value.get("clientId"),
            "client_host": host or None, "rebalance_timeout_ms": _number(value.get("rebalanceTimeoutMs")), "topics": value.get("subscribedTopicNames"),
            "protocol": value.get("serverAssignor"), "assigned_partitions": _by_topic_id(assigned),
            "revoked_partitions": _by_topic_id(revoking) or None, "columns": columns,
        })  # fmt: skip

    def _group(self, line: Line, group: str, captures: dict[str, Any], *, removed: bool = False) -> Observation:
        generation = captures.get("generation")
        words = "removed" if removed else "stored" if generation is None else f"stored at generation {generation}"
        event = "group_removed" if removed else "group_stored"
        return Observation.of(line, event, {"group_id": group, "offsets_partition": self._partition, **captures}, self._ts, f"{group} {words}")

    def _member(self, line: Line, group: str, member: str, captures: dict[str, Any], event: str = "member_stored") -> Observation:
        captures_of = {"group_id": group, "member_id": member, "offsets_partition": self._partition, **captures}
        return Observation.of(line, event, captures_of, self._ts, f"{member} of {group}")


def read_dump(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield groups, members and last commits from such a dump."""
    return OffsetsDump().read(lines)


def _assigned_text(text: str) -> dict[str, Any]:
    """Decode an assignment as 0.9 to 3.7 print it: `[t-0, t-1]`, or hexadecimal digits that have lost their leading zeros."""
    if text.startswith("["):
        return {"assigned_partitions": [p.strip() for p in text[1 : text.index("]")].split(",") if p.strip()]}
    digits = text if len(text) % 2 == 0 else "0" + text
    for zeros in range(_LEADING_ZEROS):
        found = decode_assignment_bytes(bytes(zeros) + bytes.fromhex(digits)) if digits else None
        if found is not None:
            return found
    return {}


def _assigned_json(value: Any) -> dict[str, Any]:  # noqa: ANN401  (what JSON gives)
    """Decode an assignment as 3.8 and later print it: fields for consumers, base64 for others."""
    if isinstance(value, str):
        return decode_assignment_bytes(_bytes(value)) or {}
    if isinstance(value, dict) and isinstance(value.get("assignedPartitions"), list):
        found = [f"{t.get('topic')}-{n}" for t in value["assignedPartitions"] if isinstance(t, dict) for n in t.get("partitions") or ()]
        return {"assigned_partitions": found}
    return {}


def _by_topic_id(value: Any) -> list[str] | None:  # noqa: ANN401  (what JSON gives)
    if not isinstance(value, list):
        return None
    return [f"{t.get('topicId', t.get('topicName'))}-{n}" for t in value if isinstance(t, dict) for n in t.get("partitions") or ()]


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _data(value: Any) -> Mapping[str, Any] | None:  # noqa: ANN401  (what JSON gives)
    data = value.get("data") if isinstance(value, dict) else None
    return data if isinstance(data, dict) else None


def _number(value: Any) -> int | None:  # noqa: ANN401  (what JSON gives)
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _micros(match: re.Match[str] | None) -> int | None:
    millis = int(match[1]) if match else -1
    return millis * 1000 if millis >= 0 else None
