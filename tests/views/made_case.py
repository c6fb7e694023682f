"""A small case made by hand: the views' rows with the columns that DESIGN promises, for tests of the report without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forensics.report import assembly, model, selection

if TYPE_CHECKING:
    from forensics.case.folder import Case
    from forensics.inventory.evidence import Evidence

T0 = datetime(2026, 3, 1, 10, 0, 0, tzinfo=UTC)
HOSTILE = "\x1b[31mred\x1b[0m <script>alert(1)</script> | `x` \u202eevil [bold]no[/bold]"


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def worker(name: str, island: int = 1) -> dict[str, Any]:
    return {
        "process_id": f"{name}/connect.log",
        "host": name,
        "role": "connect_worker",
        "kafka_version": "3.9.1",
        "version_how": "printed",
        "kafka_cluster": "abc",
        "worker_url": f"http://{name}:8083/",
        "instances": 1,
        "clock_island": island,
        "reference_process_id": "b1/server.log",
        "first_ts": at(0),
        "last_ts": at(120),
    }


def generation(number: int, start: float, **more: Any) -> dict[str, Any]:
    return {
        "kafka_cluster": "abc",
        "group_id": "connect-cluster",
        "incarnation": 1,
        "incarnation_why": "first",
        "generation": number,
        "protocol_type": "connect",
        "group_protocol": "classic",
        "rebalance_mode": "cooperative",
        "assignor": "sessioned",
        "coordinator": "b1:9092",
        "prepared_ts": at(start),
        "stabilized_ts": at(start + 3),
        "assigned_ts": at(start + 3.2),
        "join_ms": 3000,
        "sync_ms": 200,
        "duration_ms": 3200,
        "leader_member_id": "connect-w1-8f14e45f-ceea-467f-a9d2-1d3f6a1b2c3d",
        "member_count": 2,
        "is_count_told": True,
        "trigger": "member_joined",
        "trigger_inferred": False,
        "asked_why": None,
        "asked_member_id": None,
        "trigger_member_id": "connect-w2-c9f0f895-fb98-4b91-8c25-7a1e0d5f6a7b",
        "reason": "",
        "waited_for_member_id": None,
        "waited_why": None,
        "seen_by_broker": True,
        "seen_by_members": 2,
        "witness": [],
    } | more


def share(number: int, member: str, tasks: list[str], **more: Any) -> dict[str, Any]:
    return {
        "kafka_cluster": "abc",
        "group_id": "connect-cluster",
        "incarnation": 1,
        "generation": number,
        "member_id": member,
        "process_id": None,
        "member_epoch": None,
        "state": "stable",
        "joined_ts": None,
        "synced_ts": None,
        "assigned": tasks,
        "revoked": [],
        "delay_ms": 0,
        "paused_ms": 200,
    } | more


def split(resource: str, verdict: str = "proved", **more: Any) -> dict[str, Any]:
    return {
        "kafka_cluster": "abc",
        "group_id": "connect-cluster",
        "resource_kind": "task",
        "resource": resource,
        "process_a": "w2/connect.log",
        "process_b": "w1/connect.log",
        "kind": "work",
        "from_lo": at(60),
        "from_hi": at(60.01),
        "to_lo": at(61),
        "to_hi": at(61.2),
        "certain_ms": 990,
        "possible_ms": 1200,
        "there_certain_ms": 1010,
        "there_possible_ms": 1400,
        "work_certain_ms": 990,
        "records_written": None,
        "work_possible_ms": 1200,
        "verdict": verdict,
        "margin_ms": 40_000,
        "cause": "w2 stood still for 40 s",
        "explanation": f"w2 worked on {resource} until 10:01:01; w1 had created it at 10:00:40.",
        "missing": "" if verdict == "proved" else "w2's log at DEBUG",
        "records_at_risk": None,
        "ownership_a": f"o-{resource}-w2",
        "ownership_b": f"o-{resource}-w1",
        "facts": {"b_began_later": True},
        "witness": ["e1", "e2"],
    } | more


def owned(resource: str, worker: str, **more: Any) -> dict[str, Any]:
    return {
        "ownership_id": f"o-{resource}-{worker}",
        "kafka_cluster": "abc",
        "group_id": "connect-cluster",
        "resource_kind": "task",
        "resource": resource,
        "process_id": f"{worker}/connect.log",
        "member_id": None,
        "instance": 1,
        "generation": 2,
        "start_lo": at(12),
        "start_hi": at(12.01),
        "stop_asked_ts": None,
        "work_stop_lo": None,
        "work_stop_hi": None,
        "stop_lo": None,
        "stop_hi": None,
        "phase_end": "running",
        "stop_how": None,
        "witness": ["e1"],
    } | more


def finding(rule: str, severity: str, verdict: str = "proved", start: float | None = 60, **more: Any) -> dict[str, Any]:
    return {
        "finding_id": f"f-{rule}",
        "rule": rule,
        "severity": severity,
        "verdict": verdict,
        "kafka_cluster": "abc",
        "group_id": "connect-cluster",
        "subject": "orders-0",
        "from_ts": None if start is None else at(start),
        "to_ts": None if start is None else at(start + 1),
        "headline": f"{rule} happened",
        "explanation": "Because of this.",
        "advice": "Do that.",
        "witness": ["e1"],
    } | more


def incident(cause: str, findings: Sequence[str], severity: str = "warning", **more: Any) -> dict[str, Any]:
    return {
        "incident_id": f"i-{cause}",
        "kafka_cluster": "abc",
        "group_ids": ["connect-cluster"],
        "cause": cause,
        "alternatives": [],
        "subject": "w2/connect.log",
        "from_lo": at(50),
        "from_hi": at(55),
        "to_lo": at(58),
        "to_hi": at(60),
        "severity": severity,
        "times": 1,
        "resources_hit": [],
        "longest_outage_ms": None,
        "longest_outage_hi_ms": None,
        "double_work_ms": None,
        "finding_ids": list(findings),
        "headline": f"w2/connect.log: {cause}",
        "advice": None,
        "outcome": None,
        "stop_now": None,
        "code": cause,
        "facts": {"lasted_lo_ms": 3000, "lasted_hi_ms": 10_000, "member_count": None, "process_count": 1, "rule": None},
        "witness": ["e1"],
    } | more


W1, W2 = "connect-w1-8f14e45f-ceea-467f-a9d2-1d3f6a1b2c3d", "connect-w2-c9f0f895-fb98-4b91-8c25-7a1e0d5f6a7b"


def rows() -> dict[str, list[dict[str, Any]]]:
    """One split brain between two workers of one group."""
    broker = worker("b1") | {"process_id": "b1/server.log", "role": "broker"}
    return {
        "source_file": [
            {
                "path": f"{p}.log",
                "sha256": "0" * 64,
                "bytes": 100,
                "lines": 10,
                "records": 10,
                "events": 4,
                "unrecognised": 1,
                "layout": "log4j",
                "time_zone": "UTC",
                "time_zone_how": "assumed",
                "process_id": f"{p}.log",
                "first_ts": at(0),
                "last_ts": at(120),
            }
            for p in ("b1/server", "w1/connect", "w2/connect")
        ],
        "process": [broker, worker("w1"), worker("w2")],
        "member": [
            {
                "kafka_cluster": "abc",
                "group_id": "connect-cluster",
                "member_id": m,
                "process_id": p,
                "client_id": "connect-1",
                "group_instance_id": None,
                "task": None,
                "first_ts": at(0),
                "last_ts": at(100),
                "left_client": None,
                "left_broker": None,
            }
            for m, p in ((W1, "w1/connect.log"), (W2, "w2/connect.log"))
        ],
        "generation": [
            generation(1, 5, member_count=1, trigger_member_id=W1),
            generation(2, 10),
            generation(3, 40, trigger="member_expired", waited_for_member_id=W2, waited_why="expired", member_count=1),
        ],
        "member_generation": [
            share(1, W1, ["orders-0", "orders-1", "orders-2"]),
            share(2, W1, ["orders-0", "orders-1"]),
            share(2, W2, ["orders-2"]),
            share(3, W1, ["orders-0", "orders-1", "orders-2"]),
        ],
        "rebalance_blame": [
            {
                "kafka_cluster": "abc",
                "group_id": "connect-cluster",
                "incarnation": 1,
                "generation": 3,
                "part": "detection",
                "from_ts": at(30),
                "to_ts": at(40),
                "ms": 10_000,
                "member_id": W2,
                "process_id": "w2/connect.log",
                "setting": "session.timeout.ms",
                "value_ms": 10_000,
                "value_how": "config",
                "other_ms": 6_000,
                "sooner_ms": 4_000,
                "what_if": "session.timeout.ms = 6000 instead of 10000 would have detected it 4.00 s sooner; cost: a member that is silent for more than 6.00 s is removed",
                "code": "silence_noticed_sooner",
                "inferred": False,
                "witness": ["e1"],
            }
        ],
        "duplicate_ledger": [
            {
                "kafka_cluster": "abc",
                "group_id": "connect-cluster",
                "resource": "orders-0",
                "old_process_id": "w2/connect.log",
                "new_process_id": "w1/connect.log",
                "last_committed": None,
                "restarted_at": 40,
                "restarted_lo": at(60),
                "restarted_hi": at(60.01),
                "read_to": 41,
                "records_lo": 1,
                "records_hi": None,
                "how": "refused_commit",
                "fenced_by": "group",
                "witness": ["e2"],
            }
        ],
        "ownership": [owned("orders-0", "w1"), owned("orders-1", "w1"), owned("orders-2", "w2")],
        "split_brain": [split("orders-2"), split("orders-1", "refuted", witness=[]), split("orders-0", "undecided", from_lo=None, certain_ms=0)],
        "coordinator_episode": [
            {
                "group_id": "connect-cluster",
                "process_id": "w2/connect.log",
                "broker": "b1:9092",
                "lost_ts": at(58),
                "lost_lo": at(57.9),
                "lost_hi": at(58.1),
                "found_ts": None,
                "duration_ms": None,
                "cause": "session_timeout",
                "scope": "member",
            }
        ],
        "clock_offset": [
            {
                "process_id": "w2/connect.log",
                "reference_process_id": "b1/server.log",
                "lo_ms": 40_999.0,
                "hi_ms": 41_001.0,
                "constraints": 12,
                "stepped": False,
                "suspect_time_zone": None,
            },
        ],
        "coverage": [
            {"process_id": "w3", "from_ts": None, "to_ts": None, "kind": "missing_process", "note": "member connect-w3 named by b1/server.log:12"},
            {"process_id": "w2/connect.log", "from_ts": at(18), "to_ts": at(58), "kind": "gap", "note": ""},
        ],
        "finding": [
            finding(
                "split-brain-task",
                "critical",
                headline="orders-2 was worked on twice",
                incident_id="i-process_paused",
                caused_by="f-session-timeout",
                caused_how="member",
            ),
            finding("session-timeout", "warning", incident_id="i-process_paused", caused_by=None, caused_how="member"),
            finding("risky-config", "note", start=None, headline=HOSTILE, incident_id=None, caused_by=None, caused_how=None),
        ],
        "incident": [
            incident(
                "process_paused",
                ["f-session-timeout", "f-split-brain-task"],
                "critical",
                resources_hit=["orders-2"],
                longest_outage_ms=2000,
                longest_outage_hi_ms=2050,
                double_work_ms=990,
                advice="Find out what stopped it.",
            )
        ],
    }


LINES = {
    "e1": {
        "event_id": "e1",
        "process_id": "w2/connect.log",
        "path": "w2/connect.log",
        "line": 7,
        "byte_offset": 700,
        "ts": at(60),
        "text": "Stopping task orders-2",
    },
    "e2": {"event_id": "e2", "process_id": "w1/connect.log", "path": "w1/connect.log", "line": 9, "byte_offset": 900, "ts": at(61), "text": HOSTILE},
}


def made(views: dict[str, list[dict[str, Any]]] | None = None, **filters: Any) -> model.Report:
    """The report of the rows."""
    return assembly.assemble(
        {"tool_version": "0.1.0"}, views or rows(), selection.Filters(**filters), lambda ids: {i: dict(LINES[i]) for i in ids if i in LINES}
    )


def written(root: Path, views: dict[str, list[dict[str, Any]]] | None = None, evidence: Sequence[Evidence] = ()) -> Case:
    """The rows as a case on disk that every command takes for its own, made without Spark.

    Args:
        root: its folder.
        views: rows of the views; those of `rows()` by default. Views without rows here have none.
        evidence: files that the case has read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from forensics.case import folder as case_folder
    from forensics.case import view_files
    from forensics.case import views as built_views

    given = rows() if views is None else views
    with case_folder.writing(root) as writer:
        case = writer.finish(list(evidence), {"tool_version": "0.1.0", "catalogue_hash": "", "command_line": [], "knobs": {}})
        target, folders = case_folder.new_views_folder(case), {}
        for name in [view.name for view in view_files.views().values() if view.kept]:
            folder = target / name
            folder.mkdir(parents=True)
            known = given.get(name, [])
            pq.write_table(pa.Table.from_pylist(known) if known else pa.table({"none": pa.array([], pa.string())}), folder / "part-0.parquet")
            folders[name] = str(folder)
        return case_folder.publish(*built_views._with(case, folders, {}))  # noqa: SLF001 (what Spark computes is given here)
