"""Find the causes that a rule proves directly: a configuration, a clock, lost metadata, a connector that keeps changing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from forensics.causes.trouble import Trouble
from forensics.clocks.offsets import Clocks
from forensics.relations.by_key import ByKey
from forensics.relations.missing import first, greatest, least, minus, names, proof_events

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

#: Clocks that no constant offset explains.
_CONTRADICTED = ("contradicted", "contradict_each_other")
#: Findings about clocks and logs that are not the fault of a wrong clock.
_NOT_WRONG = (
    "daylight_saving",
    "another_log",
    "parts_out_of_order",
    "order_unclear",
    "lines_repeated",
    "lines_doubled",
    "lines_sorted",
    "wrong_time",
)


def proved_causes(inputs: Inputs) -> Iterator[Trouble]:
    """Yield the causes that rules prove."""
    yield from _impossible_offsets_topics(inputs)
    yield from _lost_offsets(inputs)
    for row in inputs.rows("rule_rebalance_storm"):
        if row["code"] == "connector_changes":
            yield _proved("connector_churn", row, [row["group_id"]])
    for row in inputs.rows("rule_duplicate_declaration"):
        yield _proved("duplicate_declaration", row, [row["facts"]["place"], row["facts"]["other_place"]])
    # A sink's name determines its group: two Connect clusters that declare it share the data.
    for row in inputs.rows("rule_sink_group_shared"):
        yield _proved("duplicate_declaration", row, [cluster["worker_group_id"] for cluster in row["facts"]["clusters"] or ()])
    for row in inputs.rows("rule_group_id_collision"):
        if row["severity"] not in (None, "note"):
            yield _proved("group_id_collision", row, [row["group_id"]])
    yield from _shared_static_ids(inputs)
    for row in inputs.rows("rule_clock_skew"):
        if row["code"] is not None and row["code"] not in _NOT_WRONG:
            step_ms = -(row["facts"]["by_ms"] or 0) if row["code"] == "set_back" else 0 if row["code"] in _CONTRADICTED else None
            yield _proved("clock_wrong", row, [], process_id=row["facts"]["process_id"], step_ms=step_ms)


def _proved(cause: str, row: Row, group_ids: Iterable[str | None], **known: Any) -> Trouble:  # noqa: ANN401 (of the type of each attribute)
    """Return the trouble that a row of a rule proves.

    Args:
        cause: its cause.
        row: the row.
        group_ids: groups that it affects.
        **known: attributes of the trouble that differ from those of the row.
    """
    fields = {
        "kafka_cluster": row["kafka_cluster"],
        "subject": row["subject"],
        "from_lo_ms": row["from_ms"],
        "from_hi_ms": row["from_ms"],
        "to_lo_ms": row["to_ms"],
        "to_hi_ms": row["to_ms"],
        "witness": proof_events(row["proof"]),
    }
    return Trouble(cause=cause, group_ids=names(group_ids), **{**fields, **known})


def _impossible_offsets_topics(inputs: Inputs) -> Iterator[Trouble]:
    rows = inputs.rows("rule_offsets_topic_unsatisfiable")
    since = _configured_since(inputs) if rows else {}
    for row in rows:
        since_ms = least(since.get(row["kafka_cluster"]), row["from_ms"])
        yield _proved("offsets_topic_impossible", row, row["facts"]["group_ids"] or (), from_lo_ms=since_ms)


def _configured_since(inputs: Inputs) -> dict[str | None, int | None]:
    """Return since when the configuration of each cluster's brokers applies: their start. If a broker ran before its log begins, that moment is unknown."""
    lives = ByKey(inputs.rows("process_life", columns=["process_id", "instance", "first_ms"]), "process_id")
    clocks = Clocks(inputs)
    starts: defaultdict[str, list[tuple[int, int | None]]] = defaultdict(list)
    for broker in inputs.rows("cluster_broker"):
        for life in lives[broker["process_id"]]:
            for lo_ms, _ in clocks.bounds(broker["process_id"], life["first_ms"]):
                starts[broker["kafka_cluster"]].append((life["instance"], lo_ms))
    return {
        cluster: least(*(first_ms for _, first_ms in runs))
        for cluster, runs in starts.items()
        if cluster is not None and min(instance for instance, _ in runs) > 0
    }


def _lost_offsets(inputs: Inputs) -> Iterator[Trouble]:
    """Yield the losses of groups' metadata, each since the last moment at which it existed."""
    rows = [row for row in inputs.rows("rule_generation_reset") if row["code"] == "metadata_lost"]
    if not rows:
        return
    last: dict[tuple[str | None, str | None, int | None], int | None] = {}
    columns = ["kafka_cluster", "group_id", "incarnation", "assigned_ts", "stabilized_ts", "first_joined_ts"]
    for generation in inputs.rows("generation", columns=columns):
        key = (generation["kafka_cluster"], generation["group_id"], generation["incarnation"])
        last[key] = greatest(last.get(key), first(generation["assigned_ts"], generation["stabilized_ts"], generation["first_joined_ts"]))
    for row in rows:
        facts = row["facts"]
        before = (row["kafka_cluster"], row["group_id"], minus(facts["incarnation"], 1))
        since_ms = first(last.get(before) if None not in before else None, row["from_ms"])
        known = {"subject": "__consumer_offsets", "process_id": facts["broker_process_id"], "from_lo_ms": since_ms}
        yield _proved("offsets_lost", row, [row["group_id"]], **known)


def _shared_static_ids(inputs: Inputs) -> Iterator[Trouble]:
    """Yield the static members whose id several processes use. The sharing begins when the second process uses the id, which the first learns later."""
    rows = [row for row in inputs.rows("rule_static_member_fenced") if len(row["facts"]["users"] or ()) > 1]
    first_uses = _first_uses(inputs) if rows else {}
    found: dict[object, Trouble] = {}
    for row in rows:
        key = (row["kafka_cluster"], row["group_id"], row["subject"])
        uses = first_uses.get(key, {}) if None not in key else {}
        second_ms = greatest(*(at_ms for at_ms in uses.values() if row["from_ms"] is not None and at_ms <= row["from_ms"]))
        trouble = _proved(
            "static_id_shared", row, [row["group_id"]], process_id=row["facts"]["process_id"], from_lo_ms=first(second_ms, row["from_ms"])
        )
        found[repr(trouble)] = trouble  # the same, seen by several clients, is one
    yield from found.values()


def _first_uses(inputs: Inputs) -> dict[tuple[str, str, str], dict[str, int]]:
    """Return when each process first used a static member's id."""
    clocks = Clocks(inputs)
    columns = ["kafka_cluster", "group_id", "group_instance_id", "process_id", "joining_first_ms", "joined_ms", "synced_ms"]
    found: defaultdict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    for row in inputs.rows("join_round", columns=columns):
        if row["group_instance_id"] is None:
            continue
        uses = found[row["kafka_cluster"], row["group_id"], row["group_instance_id"]]
        for at_ms, _ in clocks.bounds(row["process_id"], first(row["joining_first_ms"], row["joined_ms"], row["synced_ms"])):
            if at_ms is not None:
                uses[row["process_id"]] = min(at_ms, uses.get(row["process_id"], at_ms))
    return found
