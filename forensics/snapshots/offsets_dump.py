"""Read `kafka-dump-log --offsets-decoder` of a partition of `__consumer_offsets`, of every release.

Keys: `metadata::G` and `offset::G:topic:0` (0.9 to 1.0; the latter until 2.4), `{"metadata":"G"}` (1.1 to 2.4), `group_metadata::group=G` and
`offset_commit::group=G,partition=t-0` (2.5 to 3.7), `{"type":"2","data":{...}}` (from 3.8: the record's type and its fields by name, including those
of KIP-848 groups). Also the output of the console consumer's formatters: `[G,topic,0]::[OffsetMetadata[10,meta],CommitTime 1,ExpirationTime 2]`
(0.9 to 2.0), `[G,topic,0]::OffsetAndMetadata(offset=10, ...)` (2.1 to 3.9), and since 3.8 one JSON object with `key` and `value` per line.

A partition of the topic contains millions of commits. They are yielded as they are read, each when the next one of its group and partition is known, so
that memory grows with the partitions and open transactions only.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forensics.catalogue.embedded_protocol import decode_assignment_bytes, decode_connect_url
from forensics.snapshots.observation import Commit, CommitEvent, Committed, Item, Line, Observation, Strange, moment_of, number_of

_DUMPING = re.compile(r"Dumping .*?__consumer_offsets-(\d+)")
_RECORD = re.compile(r"(?:\| )?offset: (\d+)\s")
_OTHER = re.compile(
    r"Dumping |(?:Log s|S)tarting offset: |baseOffset: |Found \d+ invalid bytes|Mismatches in|Non-(?:con)?secutive offsets|  (?:\d+ is followed|Index)"
)
_TIME = re.compile(r"\b(?:CreateTime|LogAppendTime): (-?\d+)")
#: The value of a commit as 3.8 and later print it, with the fields in their order; any other one is read as JSON.
_STORED = re.compile(
    r'\{"version":"\d+","data":\{"offset":(?P<offset>\d{1,18}),"leaderEpoch":(?P<epoch>-?\d{1,18}),"metadata":"(?P<metadata>[^"\\]*)",'
    r'"commitTimestamp":(?P<at>\d{1,18})(?:,"expireTimestamp":(?P<expire>-?\d{1,18}))?\}\}'
)
_COMMIT = re.compile(
    r"offset_commit::group=(?P<group>.*),partition=(?P<partition>[^,]+-\d+)$|offset::(?P<old_group>.*):(?P<topic>[^:]+):(?P<number>\d+)$"
)
_COMMITTED = re.compile(r"(?:offset=)?(-?\d+)(?:(?:,metadata=|[,:])(.*))?$", re.DOTALL)
_PRINTED = re.compile(r"\[(?P<key>[^\]]+)\]::(?P<value>.*)$")
_PRINTED_OLD = re.compile(r"\[OffsetMetadata\[(?P<offset>-?\d+),(?P<metadata>.*)\] ?,CommitTime (?P<at>\d+),ExpirationTime (?P<expire>\d+)\]$")
_PRINTED_NEW = re.compile(
    r"OffsetAndMetadata\(offset=(?P<offset>-?\d+), leaderEpoch=(?:Optional\[(?P<epoch>\d+)\]|Optional\.empty), metadata=(?P<metadata>.*), "
    r"commitTimestamp=(?P<at>\d+), expireTimestamp=(?:(?:Some\(|OptionalLong\[)(?P<expire>\d+)[)\]]|None|OptionalLong\.empty)\)$"
)
_PRODUCER = re.compile(r"\bproducerId: (\d+) ")
_MARKER = re.compile(r"\bendTxnMarker: (COMMIT|ABORT)\b")
_OLD_METADATA = re.compile(r"(?P<type>[^:]*):(?P<protocol>[^{}]*?):(?P<generation>-?\d+):(?P<assignment>\{.*\})$", re.DOTALL)
_MEMBER = re.compile(r"(?:^\{|,)(?P<member>[^=,{}]+)=(?P<assigned>\[[^\[\]]*\](?::[0-9A-F]*)?|[0-9A-F]*)(?=,|\}$)")
_DELETED = {"<DELETE>", "null"}
_LEADING_ZEROS = 7
#: Kinds of records, by the type of their key.
_TYPES = {0: "offset", 1: "offset", 2: "group", 3: "group", 6: "target_epoch", 5: "member", 7: "target", 8: "current"}


@dataclass(slots=True)
class _Place:
    """A group's partition: what its commits have in common, and the last one, with its event."""

    of: Committed
    last: Commit | None = None
    event: str = ""


@dataclass(slots=True)
class _Log:
    """How much of a partition of the topic was read: the last offset, and the number of gaps before it. A dump that does not begin at 0 begins with one."""

    last: int = -1
    gaps: int = 0

    def see(self, log_offset: int | None) -> None:
        """Take note of a record that was read completely."""
        if log_offset is not None:
            self.gaps += log_offset != self.last + 1
            self.last = log_offset


class OffsetsDump:
    """A reader of records, one by one."""

    def __init__(self) -> None:
        self._places: dict[tuple[int | None, str, str], _Place] = {}
        #: The same by partition of the topic and text of the key, as 3.8 and later print it: reading it as JSON takes longer than all else.
        self._by_key: dict[tuple[int | None, str], _Place] = {}
        self._partition: int | None = None
        self._ts: int | None = None
        self._log_offset: int | None = None
        self._log = _Log()
        self._logs: dict[int | None, _Log] = {None: self._log}
        #: Producer of the transactional batch that is being read, and commits by producer whose transaction has not ended yet.
        self._producer: int | None = None
        #: Members of each KIP-848 group: only of such a group are they known without its generations.
        self._members: dict[tuple[int | None, str], set[str]] = {}
        self._open: dict[int, list[tuple[_Place, Commit, str]]] = {}

    def read(self, lines: Iterable[Line]) -> Iterator[Item]:
        for line in lines:
            text = line.text.strip()
            if text.startswith("baseOffset: "):
                self._producer = _producer_of(text)
            elif _RECORD.match(text) or text.startswith(("key: ", "| key: ")):
                yield from self._record(line, text)
            elif text.startswith("{") and '"key"' in text:
                yield from self._formatted(line, text)
            elif dumping := _DUMPING.match(text):
                self._partition, self._producer = int(dumping[1]), None
                self._log = self._logs.setdefault(self._partition, _Log())
            elif text.startswith("[") and "]::" in text:
                yield from self._printed(line, text)
            elif text and not _OTHER.match(text) and moment_of(text) is None:
                yield Strange(line.number, text)
        for held in self._open.values():
            yield from (CommitEvent("offset_pending", commit) for _, commit, _ in held)
        yield from (CommitEvent(place.event, place.last) for place in self._places.values() if place.last)

    def _record(self, line: Line, text: str) -> Iterator[Item]:
        found = _RECORD.match(text)
        self._log_offset = int(found[1]) if found else None
        _, is_keyed, rest = f" {text}".partition(" key: ")
        self._ts = _micros(_TIME.search(text))
        if not text.startswith("|"):
            self._producer = _producer_of(text)  # up to 2.2, a record has no line of its batch
        if not is_keyed:
            if marker := _MARKER.search(text):
                self._log.see(self._log_offset)
                yield from self._ended(marker[1] == "COMMIT")
            return  # control records of early releases, and tombstones up to 2.4: a gap, because a removed commit may be one of them
        name, has_payload, payload = rest.partition(" payload: ")
        name = name.strip()
        if name.startswith("unknown::"):
            return
        # Only what is read completely closes a gap.
        last, gaps = self._log.last, self._log.gaps
        self._log.see(self._log_offset)
        place = self._by_key.get((self._partition, name))
        if place is not None and (stored := _STORED.fullmatch(payload)):
            yield from self._stored(line, place, stored)
            return
        for item in self._keyed(line, text, name, payload if has_payload else None):
            if isinstance(item, Strange):
                self._log.last, self._log.gaps = last, gaps
            yield item

    def _keyed(self, line: Line, text: str, name: str, payload: str | None) -> Iterator[Item]:
        if payload is None:  # a removal has `<DELETE>` there, so the line was cut
            yield Strange(line.number, text)
        elif commit := _COMMIT.match(name):
            partition = commit["partition"] or f"{commit['topic']}-{commit['number']}"
            value = _COMMITTED.match(payload)
            # A number at the end of a file may have lost digits.
            if payload not in _DELETED and (value is None or not line.raw.endswith(b"\n")):
                yield Strange(line.number, text)
                return
            yield from self._commit(
                line, commit["group"] or commit["old_group"], partition, {"offset": value[1], "metadata": value[2]} if value else None
            )
        elif name.startswith("metadata::"):
            yield from self._old_metadata(line, name.removeprefix("metadata::"), payload)
        elif name.startswith("group_metadata::group="):
            yield from self._text_metadata(line, name.removeprefix("group_metadata::group="), payload)
        elif name.startswith("{"):
            yield from self._json(line, name, payload)
        else:
            yield Strange(line.number, text)

    def _printed(self, line: Line, text: str) -> Iterator[Item]:
        """Yield a commit as the console consumer's formatter prints it up to 3.9; a topic has no comma, a group may have some."""
        found = _PRINTED.match(text)
        group, topic, number = found["key"].rsplit(",", 2) if found and found["key"].count(",") >= 2 else ("", "", "")
        value = (_PRINTED_NEW.match(found["value"]) or _PRINTED_OLD.match(found["value"])) if found else None
        if found is None or not number.isdigit() or value is None and found["value"] != "NULL":
            yield Strange(line.number, text)
            return
        self._log_offset, self._ts, self._producer = None, None, None
        data = value and {
            "offset": value["offset"], "metadata": value["metadata"], "commitTimestamp": value["at"], "expireTimestamp": value["expire"],
            "leaderEpoch": value.groupdict().get("epoch"),
        }  # fmt: skip
        yield from self._commit(line, group, f"{topic}-{number}", data)

    def _json(self, line: Line, name: str, payload: str) -> Iterator[Item]:
        try:
            key, value = json.loads(name), None if payload in _DELETED else json.loads(payload)
        except (ValueError, RecursionError):
            yield Strange(line.number, line.text)
            return
        if isinstance(key.get("metadata"), str):
            yield from self._text_metadata(line, key["metadata"], payload)
        elif not isinstance(key.get("data"), dict) or value is not None and _data(value) is None:
            yield Strange(line.number, line.text)
        else:
            yield from self._typed(line, number_of(key.get("type")), key["data"], _data(value))
            group, partition = _commit_of(key["data"])
            if isinstance(group, str) and (place := self._places.get((self._partition, group, partition))):
                self._by_key[self._partition, name] = place

    def _formatted(self, line: Line, text: str) -> Iterator[Item]:
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            yield Strange(line.number, text)
            return
        key, value = row.get("key"), row.get("value")
        if not isinstance(key, dict) or not isinstance(key.get("data"), dict) or value is not None and _data(value) is None:
            yield Strange(line.number, text)
        else:
            self._ts, self._log_offset, self._producer = None, None, None
            yield from self._typed(line, number_of(key.get("type", key.get("version"))), key["data"], _data(value))

    def _commit(self, line: Line, group: str, partition: str, data: Mapping[str, Any] | None) -> Iterator[Item]:
        """Take a commit; None is a tombstone. It is yielded when the next one, or the end, shows whether it is the last."""
        key = self._partition, group, partition
        place = self._places.get(key)
        if place is None:
            captures = {"group_id": group, "partition": partition, "topic": partition.rpartition("-")[0], "offsets_partition": self._partition}
            shared = Committed({k: v for k, v in captures.items() if v is not None}, f"{group} {partition}")
            place = self._places[key] = _Place(shared)
        if data is None:
            yield from self._taken(line, place, None, None, None, None, None)
        elif (offset := number_of(data.get("offset"))) is None:
            yield Strange(line.number, line.text)
        else:
            metadata, at = data.get("metadata"), number_of(data.get("commitTimestamp"))
            epoch, expire = number_of(data.get("leaderEpoch")), number_of(data.get("expireTimestamp"))
            yield from self._taken(line, place, offset, epoch, str(metadata) if metadata else None, at, expire)

    def _stored(self, line: Line, place: _Place, value: re.Match[str]) -> Iterator[Item]:
        """Take a commit of which the key is known and the value has the usual fields."""
        offset, epoch, metadata, at, expire = value.groups()
        yield from self._taken(line, place, int(offset), int(epoch), metadata, int(at), int(expire) if expire else None)

    def _taken(
        self, line: Line, place: _Place, offset: int | None, epoch: int | None, metadata: str | None, at: int | None, expire: int | None
    ) -> Iterator[Item]:
        """Take a commit; one without an offset is a tombstone."""
        ts, run = self._ts, None if self._log_offset is None else self._log.gaps
        if ts is None and at and at > 0:
            ts = at * 1000
        members = None if run != 0 or (alive := self._members.get((self._partition, place.of.captures["group_id"]))) is None else len(alive)
        values = (
            offset, None if epoch is None or epoch < 0 else epoch, metadata if metadata and metadata != "NO_METADATA" else None,
            None if expire is None or expire < 0 else expire, self._log_offset, run, self._producer, members,
        )  # fmt: skip
        commit = Commit(line.number, line.offset, line.raw, place.of, ts, values)
        event = "offset_removed" if offset is None else "offset_stored"
        if self._producer is not None:
            self._open.setdefault(self._producer, []).append((place, commit, event))
        else:
            yield from self._take(place, commit, event)

    def _take(self, place: _Place, commit: Commit, event: str) -> Iterator[Item]:
        if place.last:
            yield CommitEvent("offset_superseded", place.last)
        place.last, place.event = commit, event

    def _ended(self, committed: bool) -> Iterator[Item]:
        """Take or drop the commits of a transaction that ends. They count from its end; of several of one partition, only the last does."""
        held = self._open.pop(self._producer, ()) if self._producer is not None else ()
        last = {id(place): commit for place, commit, _ in held}
        for place, commit, event in held:
            if committed and last[id(place)] is commit:
                log_offset = commit.values[4] if self._log_offset is None else self._log_offset
                values = (*commit.values[:4], log_offset, None if log_offset is None else self._log.gaps, *commit.values[6:])
                yield from self._take(place, commit._replace(ts=self._ts or commit.ts, values=values), event)
            else:
                yield CommitEvent("offset_aborted", commit)

    def _old_metadata(self, line: Line, group: str, payload: str) -> Iterator[Item]:
        found = _OLD_METADATA.match(payload)
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

    def _text_metadata(self, line: Line, group: str, payload: str) -> Iterator[Item]:
        try:
            value = None if payload in _DELETED else json.loads(payload)
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
        generation = number_of(value.get("generationId"))
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
            yield from self._commit(line, *_commit_of(key), value)
        elif kind == 2:
            yield from self._classic(line, group, value)
        elif "memberId" in key:
            if kind == 5:
                alive = self._members.setdefault((self._partition, group), set())
                (alive.discard if value is None else alive.add)(str(key["memberId"]))
            yield self._epoch_member(line, group, str(key["memberId"]), _TYPES.get(kind or -1, str(kind)), value)
        elif value is None:
            yield self._group(line, group, {"columns": {"RECORD": _TYPES.get(kind or -1, str(kind))}}, removed=kind == 3)
        elif "epoch" in value or "assignmentEpoch" in value:
            columns = {"RECORD": _TYPES.get(kind or -1, str(kind))}
            if "assignmentEpoch" in value:
                columns["TARGET-ASSIGNMENT-EPOCH"] = str(value["assignmentEpoch"])
            yield self._group(line, group, {"generation": number_of(value.get("epoch")), "columns": columns})

    def _classic(self, line: Line, group: str, value: Mapping[str, Any] | None) -> Iterator[Item]:
        if value is None:
            yield self._group(line, group, {}, removed=True)
            return
        members = [m for m in value.get("members") or () if isinstance(m, dict)]
        since, generation = number_of(value.get("currentStateTimestamp")), number_of(value.get("generation"))
        yield self._group(line, group, {
            "protocol_type": value.get("protocolType") or None, "protocol": value.get("protocol"), "generation": generation,
            "leader_member_id": value.get("leader"), "member_count": len(members), "columns": {"STATE-SINCE": str(since)} if since and since > 0 else {},
        })  # fmt: skip
        for member in members:
            subscription = member.get("subscription")
            host = str(member.get("clientHost") or "").lstrip("/")
            yield self._member(line, group, str(member.get("memberId")), {
                "generation": generation, "group_instance_id": member.get("groupInstanceId"), "client_id": member.get("clientId"), "client_host": host or None,
                "rebalance_timeout_ms": number_of(member.get("rebalanceTimeout")), "session_timeout_ms": number_of(member.get("sessionTimeout")),
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
            "member_epoch": number_of(value.get("memberEpoch")), "group_instance_id": value.get("instanceId"), "client_id": value.get("clientId"),
            "client_host": host or None, "rebalance_timeout_ms": number_of(value.get("rebalanceTimeoutMs")), "topics": value.get("subscribedTopicNames"),
            "protocol": value.get("serverAssignor"), "assigned_partitions": _by_topic_id(assigned),
            "revoked_partitions": _by_topic_id(revoking) or None, "columns": columns,
        })  # fmt: skip

    def _placed(self) -> dict[str, Any]:
        run = None if self._log_offset is None else self._log.gaps
        return {"offsets_partition": self._partition, "log_offset": self._log_offset, "log_run": run}

    def _group(self, line: Line, group: str, captures: dict[str, Any], *, removed: bool = False) -> Observation:
        generation = captures.get("generation")
        words = "removed" if removed else "stored" if generation is None else f"stored at generation {generation}"
        event = "group_removed" if removed else "group_stored"
        return Observation.of(line, event, {"group_id": group, **self._placed(), **captures}, self._ts, f"{group} {words}")

    def _member(self, line: Line, group: str, member: str, captures: dict[str, Any], event: str = "member_stored") -> Observation:
        captures_of = {"group_id": group, "member_id": member, **self._placed(), **captures}
        return Observation.of(line, event, captures_of, self._ts, f"{member} of {group}")


def read_dump(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield groups, members and commits from such a dump."""
    return OffsetsDump().read(lines)


def _commit_of(key: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the group and the partition of the key of a commit."""
    return key.get("group", key.get("groupId")), f"{key.get('topic')}-{key.get('partition')}"


def _producer_of(text: str) -> int | None:
    """Return the producer of a batch of a transaction."""
    found = _PRODUCER.search(text) if " isTransactional: true " in text else None
    return int(found[1]) if found else None


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


def _micros(match: re.Match[str] | None) -> int | None:
    millis = int(match[1]) if match else -1
    return millis * 1000 if millis >= 0 else None
