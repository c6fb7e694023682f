"""Find the facts of each occurrence that can link it to its cause, and the root cause that they link it to.

Time only limits the candidates: an effect does not begin before its cause, nor long after the cause was over. Of several causes the one with the most
specific fact counts, then the one that began last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forensics.causes.facts import Occurrence, occurrences
from forensics.causes.keys import Key, keys
from forensics.causes.reach import incident_reach
from forensics.causes.spans import Spans
from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.missing import between, first, greatest, latest_first, minus, plus, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Trouble of a whole group affects everything in it.
_OF_WHOLE_GROUPS = {
    "broker_down", "coordinator_moved", "offsets_topic_impossible", "offsets_lost", "group_id_collision", "connector_churn", "deployment",
}  # fmt: skip
#: The subject of these root causes is a connector, or several.
_OF_CONNECTORS = {"connector_churn", "duplicate_declaration"}


@dataclass(frozen=True)
class _Candidate:
    """A root cause that a fact links to an occurrence.

    Attributes:
        incident_id: the root cause.
        caused_how: the fact.
        rank: the more specific the fact, the lower; 0: the rule proves the cause itself.
        since_ms, until_ms: when the cause began and ended; None: unknown.
        is_trigger: True if it only triggered a rebalance.
    """

    incident_id: str
    caused_how: str
    rank: int
    since_ms: int | None
    until_ms: int | None = None
    is_trigger: bool = False

    @property
    def best(self) -> tuple[Any, ...]:
        """Return a key by which the best candidate is the first."""
        return self.rank, latest_first(self.since_ms), self.incident_id


def effects(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the facts of all occurrences, each with the root cause of its occurrence, if that is known."""
    its = occurrences(inputs)
    found, links = keys(inputs, its), _Links(inputs, its)
    return [row for it in its for row in _rows(it, found[it.id], links.best(it, found[it.id]))]


def _rows(it: Occurrence, its: Iterable[Key], cause: _Candidate | None) -> Iterator[dict[str, Any]]:
    for key in its:
        yield {
            "occurrence_id": it.id,
            **vars(key),
            "incident_id": cause.incident_id if cause else None,
            "caused_how": cause.caused_how if cause else None,
        }


class _Links:
    """What links occurrences to root causes.

    Args:
        inputs: the rows of other views.
        occurrences: all occurrences.
    """

    def __init__(self, inputs: Inputs, occurrences: Sequence[Occurrence]) -> None:
        self._knobs = inputs.knobs
        causes, reach = inputs.rows("root_cause"), incident_reach(inputs)
        self._causes = _Causes(causes)
        self._members = ByKey(reach, "group_id", "member_id")
        self._generations = ByKey(reach, "kafka_cluster", "group_id", "generation")
        self._lives = _spans_by(("process_id",), (part for cause in causes for part in _parts(cause) if part["from_lo_ms"] is not None))
        self._brokers = _spans_by(("kafka_cluster", "subject"), (cause for cause in causes if cause["from_lo_ms"] is not None))
        self._groups = _spans_by(("kafka_cluster", "group_id"), (part for cause in causes for part in _parts_of_groups(cause)))
        self._late = _LateEffects(inputs, occurrences)

    def best(self, it: Occurrence, its: Sequence[Key]) -> _Candidate | None:
        """Return the root cause of an occurrence; None if it is unknown.

        Args:
            it: the occurrence.
            its: its keys.
        """
        begun_ms = first(greatest(*(key.begun_ms for key in its)), it.from_ms)
        candidates = (one for one in self._candidates(it, its) if self._is_before(one, it, begun_ms) and self._lasts(one, it))
        return min(candidates, key=lambda one: one.best, default=None)

    def _is_before(self, cause: _Candidate, it: Occurrence, begun_ms: int | None) -> bool:
        return cause.rank == 0 or cause.since_ms is None or it.from_ms is None or up_to(cause.since_ms, begun_ms)

    def _lasts(self, cause: _Candidate, it: Occurrence) -> bool:
        """Return False if a rule's occurrences are effects only of trouble that lasts, and this does not, or is only a trigger."""
        if not it.links.outlasts or it.row["code"] in it.links.unless:
            return True
        least_ms = plus(it.from_ms, getattr(self._knobs, it.links.outlasts))
        return not cause.is_trigger and (cause.until_ms is None or least_ms is None or cause.until_ms >= least_ms)

    def _candidates(self, it: Occurrence, its: Sequence[Key]) -> Iterator[_Candidate]:
        yield from self._causes.proved_by(it)
        yield from self._causes.of_case(it)
        for event_id, cause in self._late.learnt_by(it):
            yield from (_Candidate(row["incident_id"], "member", 1, row["from_lo_ms"]) for row in self._causes.by_witness[cause, event_id])
        linked = {
            "member": self._of_member,
            "broker": self._of_broker,
            "generation": self._of_generation,
            "connector": self._of_connector,
            "group": self._of_group,
        }
        for key in its:
            if key.kind == "process":
                yield from self._of_process(key, is_noticed_later=it.row["code"] not in it.links.own_cause)
            elif key.kind in linked:
                yield from linked[key.kind](key)

    def _of_member(self, key: Key) -> Iterator[_Candidate]:
        # A member that returns triggers a rebalance of its group. Its later trouble has a cause of its own if there is one.
        for row in self._members[key.group_id, key.name]:
            is_lost = row["role"] == "lost"
            if row["kafka_cluster"] != key.kafka_cluster or _is_less(key.to_ms, minus(row["from_ms"], self._knobs.heartbeat_late_ms)):
                continue
            if is_lost or row["to_ms"] is None or up_to(key.from_ms, row["to_ms"]):
                yield _Candidate(row["incident_id"], "member", 1 if is_lost else 5, row["from_ms"], row["to_ms"], not is_lost)

    def _of_process(self, key: Key, *, is_noticed_later: bool) -> Iterator[_Candidate]:
        if not is_noticed_later and key.number is None:
            return
        if spans := self._lives.get((key.name,)):
            for part in spans.touching(minus(key.from_ms, self._knobs.outage_untroubled_ms), key.to_ms):
                # Trouble at the end of a run is noticed in the next.
                if None in (key.number, part["instance"]) or key.number - part["instance"] in (0, int(is_noticed_later)):
                    yield _Candidate(part["incident_id"], "process_life", 3, part["from_lo_ms"], part["to_hi_ms"])

    def _of_broker(self, key: Key) -> Iterator[_Candidate]:
        if spans := self._brokers.get((key.kafka_cluster, f"broker {key.name}")):
            for row in spans.touching(minus(key.from_ms, self._knobs.outage_untroubled_ms), plus(key.to_ms, self._knobs.broker_noticed_ms)):
                yield _Candidate(row["incident_id"], "coordinator", 2, row["from_lo_ms"], row["to_hi_ms"])

    def _of_generation(self, key: Key) -> Iterator[_Candidate]:
        for row in self._generations[key.kafka_cluster, key.group_id, key.number]:
            is_same = key.incarnation is None or row["incarnation"] == key.incarnation
            if is_same and (row["from_ms"] is None or up_to(row["from_ms"], key.to_ms)):
                yield _Candidate(row["incident_id"], "generation", 4, row["from_ms"], None, is_trigger=True)

    def _of_connector(self, key: Key) -> Iterator[_Candidate]:
        for row in self._causes.by_connector[key.kafka_cluster, key.name]:
            over_ms = plus(first(row["to_hi_ms"], key.from_ms), self._knobs.outage_untroubled_ms)
            if row["from_lo_ms"] is None or up_to(row["from_lo_ms"], key.to_ms) and up_to(key.from_ms, over_ms):
                yield _Candidate(row["incident_id"], "connector", 5, row["from_lo_ms"], row["to_hi_ms"], is_trigger=True)

    def _of_group(self, key: Key) -> Iterator[_Candidate]:
        spans = self._groups.get(key.place)
        if spans is None or key.from_ms is None:
            return
        for part in spans.touching(key.from_ms - self._knobs.outage_untroubled_ms, key.from_ms + self._knobs.broker_noticed_ms):
            # If the time of a loss is uncertain, trouble that was over before the loss was certain is not its effect.
            if part["cause"] != "offsets_lost" or not _is_less(key.to_ms, part["certain_ms"]):
                yield _Candidate(part["incident_id"], "group", 6, part["from_lo_ms"], part["to_hi_ms"])


def _is_less(a: int | None, b: int | None) -> bool:
    """Return True if both are known and `a` is before `b`."""
    return a is not None and b is not None and a < b


class _Causes:
    """Root causes by what their rows name.

    Args:
        causes: the rows of the view `root_cause`.
    """

    def __init__(self, causes: Iterable[Row]) -> None:
        self.by_witness: defaultdict[Hashable, list[Row]] = defaultdict(list)
        self.by_connector: defaultdict[Hashable, list[Row]] = defaultdict(list)
        self._by_subject: defaultdict[Hashable, list[Row]] = defaultdict(list)
        self._by_group: defaultdict[Hashable, list[Row]] = defaultdict(list)
        for row in causes:
            cause, subject = row["cause"], row["subject"] or ""
            for event_id in dict.fromkeys(row["witness"] or ()):
                self.by_witness[cause, event_id].append(row)
            for group_id in dict.fromkeys(row["group_ids"] or ()):
                self._by_group[cause, row["kafka_cluster"], group_id].append(row)
            for part in dict.fromkeys((*subject.split(", "), subject)):
                self._by_subject[cause, row["kafka_cluster"], part].append(row)
            for part in dict.fromkeys(subject.split(", ")) if cause in _OF_CONNECTORS else ():
                self.by_connector[row["kafka_cluster"], part].append(row)

    def proved_by(self, it: Occurrence) -> Iterator[_Candidate]:
        """Yield the root causes that an occurrence proves itself."""
        if not it.cause:
            return
        cluster, group_id = it.group
        found = {
            "witness": lambda: self.by_witness[it.cause, (it.row["witness"] or [None])[0]],
            "group": lambda: self._by_group[it.cause, cluster, group_id],
            "subject": lambda: self._by_subject[it.cause, cluster, it.row["subject"]],
        }[it.links.cause_by]()
        for row in found:
            is_of_group = (
                group_id is None or row["group_ids"] == [] or group_id in (row["group_ids"] or ()) or row["cause"] == "duplicate_declaration"
            )
            is_meanwhile = None in (row["from_lo_ms"], it.begun_ms) or between(row["from_lo_ms"], it.begun_ms, first(row["to_hi_ms"], it.begun_ms))
            if row["kafka_cluster"] == cluster and is_of_group and is_meanwhile:
                yield _Candidate(row["incident_id"], "cause", 0, row["from_lo_ms"])

    def of_case(self, it: Occurrence) -> Iterator[_Candidate]:
        """Yield the root causes that follow from the case of a rule."""
        cause = it.links.cases.get(it.row["code"])
        for row in self._by_group[cause, *it.group] if cause else ():
            if it.from_ms is None or up_to(row["from_lo_ms"], it.from_ms):
                yield _Candidate(row["incident_id"], "group", 2, row["from_lo_ms"])


class _LateEffects:
    """Losses of a membership of which a client learns late.

    A member that left at its poll timeout learns it from its next commit, until it has joined again.

    Args:
        inputs: the rows of other views.
        occurrences: all occurrences.
    """

    def __init__(self, inputs: Inputs, occurrences: Sequence[Occurrence]) -> None:
        followed = {rule for it in occurrences for rule, fact in it.links.follows.items() if fact == "client"}
        self._losses: defaultdict[Hashable, list[Occurrence]] = defaultdict(list)
        for it in occurrences:
            if it.row["rule"] in followed and None not in (it.text("process_id"), it.number("instance"), it.text("name")):
                self._losses[it.text("process_id"), it.number("instance"), it.text("name")].append(it)
        self._rejoins = _rejoins(inputs) if self._losses else {}

    def learnt_by(self, it: Occurrence) -> Iterator[tuple[str | None, str]]:
        """Yield the first event, and the cause, of each loss that an occurrence may be a late effect of."""
        rules = {rule for rule, fact in it.links.follows.items() if fact == "client"}
        if not rules:
            return
        client, run = it.text("client"), (it.text("process_id"), it.number("instance"))
        rejoins = self._rejoins.get((run[0], client), [])
        for name in {it.text("task"), client} - {None}:
            for loss in self._losses.get((*run, name), ()):
                if loss.from_ms is None or loss.row["rule"] not in rules or not up_to(loss.from_ms, it.from_ms):
                    continue
                again = bisect_left(rejoins, loss.from_ms)
                if again == len(rejoins) or not up_to(rejoins[again], it.from_ms):
                    yield (loss.row["witness"] or [None])[0], loss.cause


def _rejoins(inputs: Inputs) -> Mapping[Hashable, list[int]]:
    """Return when each client of a process joined, in order."""
    clocks = Clocks(inputs)
    found: defaultdict[Hashable, list[int]] = defaultdict(list)
    for join in inputs.rows("join_round", columns=["process_id", "client", "joined_ms", "synced_ms"]):
        for at_ms, _ in clocks.bounds(join["process_id"], first(join["joined_ms"], join["synced_ms"])):
            if at_ms is not None:
                found[join["process_id"], join["client"]].append(at_ms)
    return {client: sorted(times) for client, times in found.items()}


def _parts(cause: Row) -> Iterator[dict[str, Any]]:
    """Yield the times of which a root cause consists, each with its process, and an end if the root cause has one."""
    for part in cause["parts"] or ():
        to_ms = part["to_hi_ms"] if cause["to_hi_ms"] is None else first(part["to_hi_ms"], part["from_hi_ms"])
        yield {"incident_id": cause["incident_id"], **part, "to_hi_ms": to_ms}


def _parts_of_groups(cause: Row) -> Iterator[dict[str, Any]]:
    """Yield the times of which a root cause that affects whole groups consists, for each group."""
    name = cause["cause"]
    if name not in _OF_WHOLE_GROUPS and not (name == "unknown" and "broker_down" in (cause["alternatives"] or ())):
        return
    for part in _parts(cause):
        if part["from_lo_ms"] is None or cause["to_hi_ms"] is None or part["to_hi_ms"] is not None:
            for group_id in dict.fromkeys(cause["group_ids"] or ()):
                # What began always, or goes on, ends never.
                ends_ms = None if None in (part["from_lo_ms"], cause["to_hi_ms"]) else part["to_hi_ms"]
                its = {"kafka_cluster": cause["kafka_cluster"], "group_id": group_id, "cause": name, "certain_ms": cause["from_hi_ms"]}
                yield {**part, **its, "ends_ms": ends_ms}


def _spans_by(columns: Sequence[str], rows: Iterable[Row]) -> dict[tuple[Any, ...], Spans[Row]]:
    """Return rows with bounds as spans, by some of their columns."""
    found: defaultdict[tuple[Any, ...], list[tuple[int | None, int | None, Row]]] = defaultdict(list)
    for row in rows:
        found[tuple(row[column] for column in columns)].append((row["from_lo_ms"], row.get("ends_ms", row["to_hi_ms"]), row))
    return {key: Spans(spans) for key, spans in found.items()}
