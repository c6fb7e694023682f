"""Compute the view `rebalance_blame`: the parts of each rebalance, the member that took the time, and the setting that decided it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from forensics.generations.rebalance_parts import parts
from forensics.generations.rebalances import rebalances
from forensics.relations.by_key import ByKey
from forensics.relations.conditions import one_of
from forensics.relations.missing import first, least, less, minus, order, there

if TYPE_CHECKING:
    from forensics.generations.rebalance_parts import Part
    from forensics.relations.inputs import Inputs, Knobs, Row

CODES = frozenset(
    [
        "least_session",
        "silence_noticed_sooner",
        "stuck_noticed_sooner",
        "start_delayed_less",
        "rebalance_learnt_sooner",
        "silent_put_out_sooner",
        "busy_put_out_sooner",
        "busy_came_in_time",
        "tasks_given_sooner",
    ]
)
_OF_BROKERS = [
    "group.initial.rebalance.delay.ms",
    "group.consumer.session.timeout.ms",
    "group.share.session.timeout.ms",
    "group.streams.session.timeout.ms",
]
_SESSION, _HEARTBEAT, _DELAY, _INITIAL = "session.timeout.ms", "heartbeat.interval.ms", "scheduled.rebalance.max.delay.ms", _OF_BROKERS[0]
_POLLS = ("max.poll.interval.ms", "rebalance.timeout.ms")
_NUMBER = re.compile(r"[0-9]+")


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `rebalance_blame`."""
    members = ByKey(inputs.rows("member", ["kafka_cluster", "group_id", "member_id", "process_id", "left_client"]), *_MEMBER)
    settings = _Settings(inputs)
    found = []
    for rebalance in rebalances(inputs):
        for part in parts(inputs, rebalance, members):
            member = next(iter(members[*_group(part), part.member_id]), None)
            decided = _decided(part, settings, inputs.knobs)
            found.append(_row(part, decided, member["process_id"] if member is not None else None, inputs.knobs))
    return found


_MEMBER = ("kafka_cluster", "group_id", "member_id")


def _group(part: Part) -> tuple[str, str]:
    return part.of.row["kafka_cluster"], part.of.row["group_id"]


class _Value(NamedTuple):
    """A value of a setting, milliseconds, where it comes from, and the event that shows it."""

    value_ms: int | None = None
    how: str | None = None
    event_id: str | None = None


class _Settings:
    """The settings of members and brokers.

    Args:
        inputs: rows of `member_setting` and `config_value`.
    """

    def __init__(self, inputs: Inputs) -> None:
        settings = inputs.rows("member_setting", [*_MEMBER, "setting", "value_ms", "value_how", "event_id"])
        self._of_member = ByKey(settings, *_MEMBER, "setting")
        self._of_group = ByKey((row for row in settings if row["member_id"] is None), "kafka_cluster", "group_id", "setting")
        self._of_broker: dict[tuple[str, str], Row] = {}
        columns = ["process_id", "key", "value", "ts", "event_id"]
        printed = inputs.rows("config_value", columns, (pc.field("component") == "KafkaConfig") & one_of("key", _OF_BROKERS))
        for row in sorted(printed, key=lambda row: (row["ts"] is not None, order(row["ts"]), order(row["event_id"]))):
            if row["value"] is not None and _NUMBER.fullmatch(row["value"]):
                self._of_broker[row["process_id"], row["key"]] = {"value_ms": int(row["value"]), "event_id": row["event_id"]}

    def of_member(self, part: Part, setting: str | None) -> _Value:
        """Return the value of a setting that decided a part, as its member has it."""
        row = next(iter(self._of_member[*_group(part), part.member_id, setting]), None)
        return _Value(row["value_ms"], row["value_how"], row["event_id"]) if row is not None else _Value()

    def of(self, part: Part) -> _Value:
        """Return the value of the setting that decided a part, of the member, else of the other members, else of the coordinator."""
        own = self.of_member(part, part.setting)
        others = next(iter(self._of_group[*_group(part), part.setting]), None)
        broker = self._of_broker.get((part.of.row["coordinator"], part.setting or ""))
        of_others = _Value(others["value_ms"], "group", others["event_id"]) if others is not None else _Value()
        of_broker = _Value(broker["value_ms"], "config", broker["event_id"]) if broker is not None else _Value()
        assigned = _Value(part.late_ms, "assignment") if part.part == "scheduled_delay" else _Value()
        best = next((value for value in (own, of_others, of_broker, assigned) if value.value_ms is not None), assigned)
        return best._replace(event_id=first(own.event_id, of_others.event_id, of_broker.event_id))


@dataclass(frozen=True)
class _Decided:
    """A part with the setting that decided it, and its duration in milliseconds."""

    setting: str | None
    value: _Value
    from_ms: int | None
    ms: int | None


def _decided(part: Part, settings: _Settings, knobs: Knobs) -> _Decided:
    """Return the setting that decided a part.

    A member learns of a rebalance with its next heartbeat. One that asks later than that was between two polls: there the interval of polls is the limit.
    """
    value, setting = settings.of(part), part.setting
    is_detection = part.part == "detection"
    from_ms = minus(part.to_ms, value.value_ms) if is_detection else part.from_ms
    ms = value.value_ms if is_detection else minus(part.to_ms, part.from_ms)
    if part.part == "waiting" and setting == _HEARTBEAT and part.late_ms is not None and value.value_ms is not None:
        longest_ms = value.value_ms * (100 + knobs.heartbeat_slack_percent) / 100 + knobs.heartbeat_slack_ms
        if part.late_ms > longest_ms:
            value, setting = settings.of_member(part, part.of.poll_setting), part.of.poll_setting
    return _Decided(setting, value, from_ms, ms)


def _row(part: Part, decided: _Decided, process_id: str | None, knobs: Knobs) -> Row:
    row, value = part.of.row, decided.value
    other_ms = _other(decided, knobs)
    code = _code(part, decided, other_ms)
    return {
        "kafka_cluster": row["kafka_cluster"],
        "group_id": row["group_id"],
        "incarnation": row["incarnation"],
        "generation": row["generation"],
        "part": part.part,
        "from_ts": decided.from_ms,
        "to_ts": part.to_ms,
        "ms": decided.ms,
        "member_id": part.member_id,
        "process_id": process_id,
        "setting": decided.setting,
        "value_ms": value.value_ms,
        "value_how": value.how,
        "other_ms": other_ms if code is not None else None,
        "sooner_ms": _sooner(code, part, decided, other_ms) if other_ms is not None else None,
        "what_if": None,
        "code": code,
        "inferred": part.inferred,
        "witness": list(dict.fromkeys(there([*part.witness, value.event_id]))),
    }


def _other(decided: _Decided, knobs: Knobs) -> int | None:
    """Return the first of the values to compare with that is below the one in force."""
    others = {
        _SESSION: (knobs.other_session_ms, knobs.least_session_ms),
        "group.consumer.session.timeout.ms": (knobs.least_consumer_session_ms,),
        **dict.fromkeys(_POLLS, (knobs.other_poll_ms,)),
        _HEARTBEAT: (knobs.other_heartbeat_ms,),
        _INITIAL: (0,),
        _DELAY: (knobs.other_delay_ms, 0),
    }
    return next((other for other in others.get(decided.setting or "", ()) if less(other, decided.value.value_ms)), None)


def _code(part: Part, decided: _Decided, other_ms: int | None) -> str | None:
    """Return what another value would have changed."""
    setting, value_ms = decided.setting, decided.value.value_ms
    if other_ms is None:
        return "least_session" if setting == _SESSION and value_ms is not None else None
    if part.part == "detection":
        return "silence_noticed_sooner" if setting in (_SESSION, "group.consumer.session.timeout.ms") else "stuck_noticed_sooner"
    if setting == _INITIAL:
        return "start_delayed_less"
    if setting == _HEARTBEAT and less(other_ms, part.late_ms):
        return "rebalance_learnt_sooner"
    if part.part == "waiting" and setting == _SESSION:
        return "silent_put_out_sooner"
    if part.part == "waiting" and setting in _POLLS:
        return "busy_put_out_sooner" if less(other_ms, decided.ms) else "busy_came_in_time"
    return "tasks_given_sooner" if part.part == "scheduled_delay" and less(other_ms, first(decided.ms, value_ms)) else None


def _sooner(code: str | None, part: Part, decided: _Decided, other_ms: int) -> int | None:
    """Return how much sooner the part would have ended at most, milliseconds."""
    ms, value_ms = decided.ms, decided.value.value_ms
    sooner = {
        "silence_noticed_sooner": minus(value_ms, other_ms),
        "stuck_noticed_sooner": minus(value_ms, other_ms),
        "start_delayed_less": least(ms, value_ms),
        "rebalance_learnt_sooner": minus(part.late_ms, other_ms),
        "silent_put_out_sooner": least(ms, minus(value_ms, other_ms)),
        "busy_put_out_sooner": minus(ms, other_ms),
        # A longer time also has other reasons.
        "tasks_given_sooner": minus(least(ms, value_ms), other_ms),
    }
    return sooner.get(code or "")
