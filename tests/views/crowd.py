"""Many groups, each with a freeze, two owners of its partition, and a rebalance that did not end. Made by hand, without Spark."""

from __future__ import annotations

from typing import Any

from made_case import at, finding, generation, incident, owned, rows, share, split


def crowd(groups: int) -> dict[str, list[dict[str, Any]]]:
    """Return the views' rows of a number of groups with one member each."""
    one = rows()
    kept = ("source_file", "process", "clock_offset")
    views: dict[str, list[dict[str, Any]]] = {name: one[name] if name in kept else [] for name in (*one, "open_rebalance", "incident_gap")}
    for n in range(groups):
        group, member, resource, began = {"kafka_cluster": "abc", "group_id": f"g-{n}"}, f"m-{n}", f"t-{n}", n * 10
        its = group | {"incident_id": f"i-{n}"}
        views["member"].append(one["member"][0] | group | {"member_id": member})
        views["generation"].append(generation(1, began, **group, trigger="member_expired", trigger_member_id=member))
        views["member_generation"].append(share(1, member, [resource], **group))
        views["rebalance_blame"].append(one["rebalance_blame"][0] | group | {"generation": 1})
        views["duplicate_ledger"].append(one["duplicate_ledger"][0] | group | {"resource": resource})
        views["coordinator_episode"].append(one["coordinator_episode"][0] | group | {"lost_ts": at(began)})
        views["open_rebalance"].append(
            group
            | {"last_generation": 1, "began_ts": at(began), "from_ts": at(began), "to_ts": at(began + 5), "lasted_ms": 5_000}
            | {"reason": None, "asked": [], "awaited": [], "is_given_up": False, "witness": []}
        )
        views["ownership"] += [
            owned(resource, "w1", **group, start_lo=at(began), start_hi=at(began + 1), stop_lo=at(began + 5), stop_hi=at(began + 6)),
            owned(resource, "w2", **group, start_lo=at(began + 2), start_hi=at(began + 3), stop_lo=at(began + 8), stop_hi=at(began + 9)),
        ]
        views["split_brain"].append(split(resource, **group, from_lo=at(began + 2), from_hi=at(began + 3), to_lo=at(began + 5), to_hi=at(began + 6)))
        views["finding"] += [
            finding(rule, severity, start=began, finding_id=f"f-{rule}-{n}", headline=f"{rule} {n}", caused_by=None, caused_how="member", **its)
            for rule, severity in (("split-brain-task", "critical"), ("session-timeout", "warning"))
        ]
        gap = {"resource_kind": "task", "resource": resource, "from_ts": at(began), "to_ts": at(began + 2), "double_work_ms": None}
        views["incident_gap"].append(its | gap | {"unowned_ms": 1_000, "unowned_hi_ms": 2_000})
        views["incident"].append(
            incident(
                "process_paused",
                [f"f-split-brain-task-{n}", f"f-session-timeout-{n}"],
                "critical",
                incident_id=f"i-{n}",
                group_ids=[group["group_id"]],
                from_lo=at(began),
                from_hi=at(began + 1),
                to_lo=at(began + 2),
                to_hi=at(began + 3),
                resources_hit=[resource],
                headline=f"w2 froze {n}",
            )
        )
    return views


def owners(count: int) -> dict[str, list[dict[str, Any]]]:
    """Return the views' rows of a partition that is assigned to `count` clients of one process, one after the other; no line shows that one releases it."""
    one = rows()
    kept = ("source_file", "process", "clock_offset")
    views: dict[str, list[dict[str, Any]]] = {name: one[name] if name in kept else [] for name in (*one, "occurrence")}
    for n in range(count):
        member, is_held = f"c-{n}-{n:032x}", {"resource_kind": "partition", "kind": "held"}
        views["member"].append(one["member"][0] | {"member_id": member, "client_id": f"c-{n}"})
        views["generation"].append(generation(n + 1, n))
        views["member_generation"].append(share(n + 1, member, ["t-0"]))
        views["ownership"].append(
            owned("t-0", "w1", ownership_id=f"o-{n}", resource_kind="partition", member_id=member, start_lo=at(n), start_hi=at(n + 0.5))
        )
        if n:
            both = {"process_a": "w1/connect.log", "process_b": "w1/connect.log", "ownership_a": f"o-{n - 1}", "ownership_b": f"o-{n}"}
            views["split_brain"].append(split("t-0", "undecided", **is_held, **both, from_lo=at(n), from_hi=at(n + 0.5), to_lo=None, to_hi=None))
        occurrence = {
            "occurrence_id": f"n-{n}",
            "finding_id": "f-split-brain-partition",
            "rule": "split-brain-partition",
            "group_id": "connect-cluster",
        }
        views["occurrence"].append(
            occurrence
            | {"subject": "t-0", "from_ts": at(n), "to_ts": at(n + 1), "lasted_ms": 1_000, "headline": f"{n}", "incident_id": None, "facts": None}
        )
    views["finding"].append(finding("split-brain-partition", "warning", "undecided", occurrences=count))
    return views
