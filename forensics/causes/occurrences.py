"""Compute the view `occurrence`: each occurrence with its finding and its cause.

Causes come first. Repeated occurrences with the same subject, incident and case of a rule (its code) are one finding; those of many subjects are too, from
a threshold on. The same trouble in another incident is another finding, until one cause has produced it in many incidents. An effect appears below its
cause and does not begin before it. A warning without a known cause is an incident of its own with an unknown cause. A late effect joins it if the same log
shows how its member lost its membership.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from forensics.causes.effects import effects
from forensics.causes.facts import occurrence_facts
from forensics.relations.inputs import once
from forensics.relations.missing import first, minus, order, plus, up_to
from forensics.wording.files import Links, rule_words

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

#: The kinds of facts that two occurrences may share, the one that identifies a cause best first.
_KINDS = ("member", "generation", "resource", "process", "connector", "group")
#: A whole group suffers only from trouble that affects all of it: a lost coordinator, and what is before that in a chain of causes.
_WHOLE_GROUP_LEVEL = 1
#: Facts that distinguish proved findings: the pair of processes, the earlier owner first, and the producer that fenced another.
_PAIR = ("process_a", "process_b", "other_process_id")
#: Length of an ID.
_ID = 12


@dataclass
class _Occurrence:
    """An occurrence and what is known of its cause.

    Attributes:
        row: what `occurrence_facts` returns of it.
        incident_id, caused_how: of its root cause, if that is known.
        cause: the root cause.
        level, links: of its rule.
        late_of: the occurrence of which it is a late effect.
        late_process_id: the process of both.
        scope: the incident, or the cause of many incidents, within which it is one finding.
        finding_id: its finding.
    """

    row: Row
    incident_id: str | None
    caused_how: str | None
    cause: str | None
    level: int | None
    links: Links
    late_of: _Occurrence | None = None
    late_process_id: str | None = None
    scope: str = ""
    finding_id: str = ""

    @property
    def id(self) -> str:
        return str(self.row["occurrence_id"])

    @property
    def rule(self) -> str:
        return str(self.row["rule"])

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it has in common with all that may be one finding with it, apart from scope and subject."""
        return tuple(self.row[column] for column in ("rule", "severity", "verdict", "kafka_cluster", "group_id", "code"))

    @property
    def in_time(self) -> Any:  # noqa: ANN401
        """A key that sorts by the begin."""
        return order((self.row["from_ms"], self.id))


@once
def rows(inputs: Inputs) -> list[dict[str, Any]]:
    """Return the rows of the view `occurrence`."""
    keys = effects(inputs)
    occurrences = _with_causes(inputs, keys)
    _find_late_effects(occurrences, keys, inputs.knobs)
    _set_scopes(occurrences, inputs.knobs)
    _set_findings(occurrences, inputs.knobs)
    parents = _Parents(occurrences, keys)
    late = _late_findings(occurrences)
    return [_row(it, parents.of(it), late.get(it.finding_id)) for it in occurrences]


def _with_causes(inputs: Inputs, keys: Sequence[Row]) -> list[_Occurrence]:
    whole = {key["occurrence_id"]: key for key in keys if key["kind"] == "whole"}
    causes = {row["incident_id"]: row["cause"] for row in inputs.rows("root_cause", columns=["incident_id", "cause"])}
    words, found = rule_words(), []
    facts = occurrence_facts(inputs)
    explained = {event for row in facts if not words[row["rule"]].links.rest for event in row["witness"] or ()}
    for row in facts:
        if words[row["rule"]].links.rest and explained.issuperset(row["witness"] or ()):
            continue
        effect, rule = whole.get(row["occurrence_id"], {}), words[row["rule"]]
        incident_id = effect.get("incident_id")
        found.append(_Occurrence(row, incident_id, effect.get("caused_how"), causes.get(incident_id), rule.level, rule.links))
    return found


def _find_late_effects(occurrences: Sequence[_Occurrence], keys: Iterable[Row], knobs: Knobs) -> None:
    """Find occurrences without a known cause that follow another one without a known cause, in the same run of a process.

    An occurrence that follows several follows the last.
    """
    unexplained = {it.id: it for it in occurrences if it.incident_id is None and it.row["severity"] not in (None, "note")}
    runs: defaultdict[Hashable, list[tuple[_Occurrence, Row]]] = defaultdict(list)
    processes = [(unexplained[key["occurrence_id"]], key) for key in keys if key["kind"] == "process" and key["occurrence_id"] in unexplained]
    followed = {rule for it in unexplained.values() for rule, fact in it.links.follows.items() if fact == "process"}
    for it, key in processes:
        if it.rule in followed:
            runs[_run(key)].append((it, key))
    for late, key in processes:
        if key["group_id"] is None:
            continue
        for it, _ in runs[_run(key)]:
            # A client prints that it is no longer a member, and what it could not do because of that, within a second, in either order.
            is_first = up_to(minus(it.row["from_ms"], knobs.loss_noticed_ms), key["begun_ms"])
            ended_ms = plus(first(it.row["to_ms"], it.row["from_ms"]), knobs.outage_untroubled_ms)
            if late.links.follows.get(it.rule) == "process" and is_first and up_to(late.row["from_ms"], ended_ms):
                late.late_process_id = max(late.late_process_id or "", key["name"])
                late.late_of = it if late.late_of is None else max(late.late_of, it, key=lambda one: one.in_time)


def _run(key: Row) -> Hashable:
    return key["kafka_cluster"], key["group_id"], key["name"], key["number"]


def _set_scopes(occurrences: Iterable[_Occurrence], knobs: Knobs) -> None:
    """Set the scopes. Trouble that returns for months, each time as an incident of its own, is one finding from a number of incidents on."""
    incidents: defaultdict[Hashable, set[str]] = defaultdict(set)
    for it in occurrences:
        it.scope = first(it.incident_id, it.late_process_id, "-")
        incidents[it.kind, it.cause].add(it.scope)
    for it in occurrences:
        if len(incidents[it.kind, it.cause]) >= knobs.repeat_times:
            it.scope = it.cause or "-"


def _set_findings(occurrences: Sequence[_Occurrence], knobs: Knobs) -> None:
    """Set the findings. A single occurrence keeps its own ID."""
    alike = Counter((it.kind, it.scope) for it in occurrences)
    names = [_name(it, is_one_of_many=alike[it.kind, it.scope] >= getattr(knobs, it.links.repeats)) for it in occurrences]
    scopes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, it in zip(names, occurrences, strict=True):
        scopes[name][it.scope] += 1
    for name, it in zip(names, occurrences, strict=True):
        if it.links.rest or scopes[name][it.scope] == 1:
            it.finding_id = it.id
        else:
            it.finding_id = _id(name) if len(scopes[name]) == 1 else _id(name, it.scope)


def _name(it: _Occurrence, *, is_one_of_many: bool) -> str:
    """Return a text that all occurrences of a finding have in common, apart from the scope."""
    rule, severity, verdict, cluster, group, code = it.kind
    subject = None
    if not is_one_of_many:
        facts = json.loads(it.row["facts"] or "{}") if verdict == "proved" else {}
        pair = _joined(facts.get(fact) for fact in _PAIR) if verdict == "proved" else None
        subject = _joined((first(it.row["subject"], "-"), pair))
    return _joined((rule, severity, verdict, first(cluster, "-"), first(group, "-"), code, subject))


def _joined(parts: Iterable[Any]) -> str:
    return "|".join(str(part) for part in parts if part is not None)


def _id(*parts: str) -> str:
    return sha256("|".join(parts).encode()).hexdigest()[:_ID]


@dataclass(frozen=True)
class _Parent:
    """The finding that caused an occurrence, the fact that they share, and a key by which the best of several is the first."""

    best: tuple[Any, ...]
    finding_id: str
    kind: str


@dataclass
class _Sharing:
    """Occurrences of one rule that share a fact, by their begin; those of which it is unknown come first.

    Of several that begin together, the one with the first ID comes last: the last that began before an effect is its cause.
    """

    its: list[_Occurrence] = field(default_factory=list)
    begins: list[float] = field(default_factory=list)

    def sort(self) -> None:
        self.its.sort(key=lambda it: it.id, reverse=True)
        self.its.sort(key=_begin)
        self.begins = [_begin(it) for it in self.its]

    def last_until(self, ms: int | None, other_than: str) -> _Occurrence | None:
        """Return the last one that began at this time at the latest, and is another finding."""
        at = len(self.its) if ms is None else bisect_right(self.begins, ms)
        return next((self.its[n] for n in range(at - 1, -1, -1) if self.its[n].finding_id != other_than), None)


def _begin(it: _Occurrence) -> float:
    return -1e300 if it.row["from_ms"] is None else it.row["from_ms"]


class _Parents:
    """Findings that caused others: they are in the same incident, share a fact, are of a lower level, and began before their effect.

    Args:
        occurrences: all occurrences.
        keys: the facts of all occurrences.
    """

    def __init__(self, occurrences: Sequence[_Occurrence], keys: Iterable[Row]) -> None:
        linked = {it.id: it for it in occurrences if it.incident_id is not None and it.level is not None}
        self._keys: defaultdict[str, list[Row]] = defaultdict(list)
        #: By the fact, then by the rule, then by the group; the group None has those of all groups.
        self._sharing: defaultdict[Hashable, dict[str, dict[Any, _Sharing]]] = defaultdict(dict)
        for key in keys:
            it = linked.get(key["occurrence_id"])
            if it is None or key["kind"] not in _KINDS:
                continue
            self._keys[it.id].append(key)
            if _may_cause(it, key["kind"]):
                groups = self._sharing[_fact(it, key)].setdefault(it.rule, {})
                for group in ((key["group_id"],), None):
                    groups.setdefault(group, _Sharing()).its.append(it)
        for rules in self._sharing.values():
            for groups in rules.values():
                for sharing in groups.values():
                    sharing.sort()

    def of(self, it: _Occurrence) -> _Parent | None:
        """Return the finding that caused an occurrence; None if the root cause did, or if the cause is unknown."""
        found = (parent for key in self._keys.get(it.id, ()) for parent in self._by(it, key))
        return min(found, key=lambda parent: parent.best, default=None)

    def _by(self, it: _Occurrence, key: Row) -> Iterator[_Parent]:
        """Yield the best cause of each rule by one fact."""
        for groups in self._sharing.get(_fact(it, key), {}).values():
            one = groups[None].its[0]
            if one.level is None or it.level is None or one.level >= it.level or it.rule not in first(one.links.effects, (it.rule,)):
                continue
            own = groups.get((key["group_id"],))
            cause = own.last_until(key["begun_ms"], it.finding_id) if own else None
            in_group = cause is not None
            cause = cause or groups[None].last_until(key["begun_ms"], it.finding_id)
            if cause is not None:
                from_ms = cause.row["from_ms"]
                best = (-one.level, _KINDS.index(key["kind"]), not in_group, from_ms is None, -(from_ms or 0), cause.id)
                yield _Parent(best, cause.finding_id, key["kind"])


def _may_cause(it: _Occurrence, kind: str) -> bool:
    if it.links.effects is not None and not it.links.effects or kind == "group" and (it.level or 0) > _WHOLE_GROUP_LEVEL:
        return False
    # If one member loses its coordinator and its membership, both have the same cause.
    return not it.links.no_effects_of or it.cause is not None and it.cause not in it.links.no_effects_of


def _fact(it: _Occurrence, key: Row) -> Hashable:
    """Return what two occurrences with a fact in common have in common: an effect need not be in the same run of a process."""
    kind, number, group = key["kind"], key["number"], key["group_id"]
    return (
        it.incident_id, kind, key["kafka_cluster"], key["name"], None if kind == "process" else number, None if kind in ("process", "connector") else group,
    )  # fmt: skip


def _late_findings(occurrences: Iterable[_Occurrence]) -> Mapping[str, str]:
    """Return the finding that caused each finding of late effects; the last if there are several."""
    causes: dict[str, _Occurrence] = {}
    for it in occurrences:
        if it.late_of is not None:
            causes[it.finding_id] = max(causes.get(it.finding_id, it.late_of), it.late_of, key=lambda cause: cause.in_time)
    return {finding_id: cause.finding_id for finding_id, cause in causes.items()}


def _row(it: _Occurrence, parent: _Parent | None, late_of: str | None) -> dict[str, Any]:
    row, caused_how = it.row, "process_life" if late_of is not None else None
    if it.incident_id is not None:
        caused_how = ("process_life" if parent.kind == "process" else parent.kind) if parent else it.caused_how
    return {
        "occurrence_id": it.id,
        "finding_id": it.finding_id,
        **{column: row[column] for column in ("rule", "severity", "verdict", "kafka_cluster", "group_id", "subject")},
        "from_ts": row["from_ms"],
        "to_ts": row["to_ms"],
        "lasted_ms": row["lasted_ms"],
        "headline": None,
        "explanation": None,
        "advice": None,
        **{column: row[column] for column in ("witness", "witness_role", "code", "facts")},
        "incident_id": first(it.incident_id, _incident_alone(it, first(late_of, it.finding_id))),
        "caused_by": first(parent and parent.finding_id, late_of),
        "caused_how": caused_how,
    }


def _incident_alone(it: _Occurrence, finding_id: str) -> str | None:
    """Return the incident of a warning whose cause is unknown. What a rule of the lowest level reports is a cause itself, if it proves one."""
    if it.level is None or it.row["severity"] in (None, "note") or it.level == 0 and rule_words()[it.rule].cause:
        return None
    if it.links.alone_by == "subject":
        return _id("alone", it.rule, first(it.row["kafka_cluster"], "-"), first(it.row["subject"], "-"))
    return _id("alone", finding_id)
