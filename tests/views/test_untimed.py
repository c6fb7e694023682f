"""Logs without times: order alone gives generations, leader, members, assignment and the order of steps; what needs a time is NULL."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from expect_samples import SAMPLES, SHOWN
from typer.testing import CliRunner
from untimed_logs import FIRST, GROUP, SECOND, consumer_0_9, without_times
from written_logs import case_of

from forensics.cli import app
from forensics.report import content, reading, selection, text

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory):
    """A 0.9 consumer, and of the sample a broker and two workers without times beside a third with them."""
    logs = {path.relative_to(SAMPLES / SHOWN / "logs").as_posix(): path for path in (SAMPLES / SHOWN / "logs").rglob("*.log")}
    texts = {name: path.read_text(encoding="utf-8") for name, path in logs.items()}
    texts = {name: told if name.startswith("w3/") else without_times(told) for name, told in texts.items()}
    return case_of(texts | {"c09/app.log": consumer_0_9()}, tmp_path_factory.mktemp("untimed"))


def rows(case, view: str) -> list[dict]:
    return ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()


def test_a_consumer_without_times_gives_its_generations(case) -> None:
    found = sorted((g for g in rows(case, "generation") if g["group_id"] == GROUP), key=lambda g: g["generation"])
    assert [(g["generation"], g["leader_member_id"], g["member_count"], g["assignor"]) for g in found] == [
        (1, FIRST, 1, "range"),
        (2, FIRST, 2, "range"),
    ]
    assert [g["trigger"] for g in found] == ["group_created", "member_joined"]
    assert {g[c] for g in found for c in ("first_joined_ts", "last_synced_ts", "duration_ms")} == {None}
    given = {(m["generation"], m["member_id"]): (m["state"], m["assigned"]) for m in rows(case, "member_generation") if m["group_id"] == GROUP}
    assert given == {
        (1, FIRST): ("synced", ["orders-0", "orders-1", "orders-2"]),
        (2, FIRST): ("synced", ["orders-0", "orders-1"]),
        (2, SECOND): ("synced", ["orders-2"]),
    }


def test_a_consumer_without_times_gives_its_ownerships_in_order(case) -> None:
    found = sorted(
        (o["resource"], o["generation"], o["stop_how"]) for o in rows(case, "ownership") if o["group_id"] == GROUP and o["generation"] == 1
    )
    assert found == [(f"orders-{i}", 1, "revoked") for i in range(3)]
    still = sorted(o["resource"] for o in rows(case, "ownership") if o["group_id"] == GROUP and o["generation"] == 2 and o["stop_how"] is None)
    assert still == ["orders-0", "orders-1"]
    assert not [s for s in rows(case, "split_brain") if s["group_id"] == GROUP]


def test_a_cluster_without_times_gives_the_generations_that_it_gives_with_them(case, sample_case) -> None:
    columns = ("group_id", "incarnation", "generation", "leader_member_id", "member_count", "trigger", "rebalance_mode")

    def told(of) -> set[tuple]:
        return {tuple(g[c] for c in columns) for g in rows(of, "generation") if g["group_id"] != GROUP}

    assert told(case) == told(sample_case(SHOWN))


def test_tasks_of_a_worker_without_times_are_there_without_bounds(case, sample_case) -> None:
    def started(of) -> set[tuple]:
        owned = rows(of, "ownership")
        return {
            (o["resource"], o["instance"], o["generation"]) for o in owned if o["resource_kind"] == "task" and o["process_id"] == "w2/connect.log"
        }

    assert started(case) == started(sample_case(SHOWN)) != set()
    of_w2 = [o for o in rows(case, "ownership") if o["process_id"] == "w2/connect.log"]
    assert not [v for o in of_w2 for v in o.values() if isinstance(v, datetime)]


def test_nothing_is_proved_of_times_that_are_not_there(case) -> None:
    # A worker whose clock is nowhere printed shares no time with another.
    assert {s["verdict"] for s in rows(case, "split_brain")} <= {"undecided", "refuted"}
    undecided = [s for s in rows(case, "split_brain") if "w2/connect.log" in (s["process_a"], s["process_b"]) and s["verdict"] == "undecided"]
    assert all("lines of w2/connect.log with date and time" in s["missing"] for s in undecided)


def test_the_report_of_logs_without_times_can_be_read(case) -> None:
    written = text.as_text(content.compose(reading.read(case, selection.Filters())), 120)
    written_in_one = " ".join(written.split())
    assert "These lines do not show how long the rebalances took" in written_in_one
    assert "has both date and time" in written_in_one
    # Kafka itself prints None for a member without a group.instance.id.
    assert "None" not in " ".join(written.split()).replace("None found", "").replace("id None;", "")


def test_times_of_day_get_the_date_of_the_file_and_the_layout_is_found(tmp_path: Path) -> None:
    dated = re.compile(r"^\[\d{4}-\d\d-\d\d ", re.MULTILINE)
    for path in (SAMPLES / SHOWN / "logs").rglob("*.log"):
        told = path.read_text(encoding="utf-8")
        undated = dated.sub("[", told)
        for name, text_of in (("with", told), ("started", undated), ("without", undated.replace("startTimeMs", "start"))):
            written = tmp_path / name / path.parent.name / path.name
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(text_of, encoding="utf-8")
    said, read = {}, {}
    for name in ("with", "started", "without"):
        case = tmp_path / f"case {name}"
        shown = CliRunner().invoke(app, ["ingest", str(tmp_path / name), "--case", str(case), "--no-views"])
        assert shown.exit_code == 0, shown.output
        said[name] = "have no year, or no date" in shown.stderr
        read[name] = re.findall(r"The case has \d.*", shown.stderr)
    # A client prints when it started, which shows the date too.
    assert said == {"with": False, "started": False, "without": True}
    assert read["with"] == read["started"]
    first = [
        ds.dataset(tmp_path / f"case {name}" / "tables" / "event_row").to_table(columns=["ts"])["ts"].to_pylist() for name in ("with", "started")
    ]
    assert first[0] == first[1]


def test_the_first_screen_says_that_a_date_is_assumed(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    for day, is_assumed in (("", True), ("2026-10-25 ", False)):
        line = f"{day}12:49:32,206 INFO [Consumer clientId=c, groupId=g] (Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
        log.write_text(line + line.replace(",206", ",306"), encoding="utf-8")
        shown = CliRunner().invoke(app, ["report", str(log)], env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert ("the year or date of app.log" in " ".join(shown.stdout.split())) is is_assumed, shown.output
