"""Second witnesses in a case: their rows and views, `forensics show`, and the contradiction of a status with the logs."""

from __future__ import annotations

import json

import pyarrow.dataset as ds
import pytest
from places import SAMPLES
from some_views import with_views
from typer.testing import CliRunner

from forensics.cli import app
from forensics.report import row_times

pytestmark = pytest.mark.engine
SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1"


def status(when: str, state: str, worker: str) -> str:
    """An answer of `/connectors/c/status` as curl -i saves it; by the logs w1 (10.77.0.12) runs c-0 from 07:51:26 to 07:52:48."""
    body = {
        "name": "c",
        "connector": {"state": "RUNNING", "worker_id": worker},
        "tasks": [{"id": 0, "state": state, "worker_id": worker}],
        "type": "sink",
    }
    return f"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 {when} GMT\r\n\r\n{json.dumps(body)}\n"


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    from forensics.case.ingestion import ingest
    from forensics.engines import engine

    folder = tmp_path_factory.mktemp("told")
    said = {
        "stale-unassigned": status("07:52:07", "UNASSIGNED", "10.77.0.14:8083"),
        "stale-running": status("07:52:08", "RUNNING", "10.77.0.14:8083"),
        "true": status("07:52:07", "RUNNING", "10.77.0.12:8083"),
        "too-early": status("07:51:40", "UNASSIGNED", "10.77.0.14:8083"),
        "no-such-worker": status("07:52:07", "UNASSIGNED", "10.9.9.9:8083"),
        "untimed": status("07:52:09", "UNASSIGNED", "10.77.0.14:8083").partition("\r\n\r\n")[2],
    }
    for name, text in said.items():
        (folder / f"{name}.txt").write_text(text, newline="")
    (folder / "broken.json").write_text(
        json.dumps({"b": json.loads(said["true"].partition("\r\n\r\n")[2])})[:-40].replace('"b": {', '"b": {"status": {')
    )
    (folder / "client.properties").write_text(
        'bootstrap.servers=b:9092\nsecurity.protocol=SASL_SSL\nsasl.jaas.config=x password="geheim";\ngroup.id=app\n'
    )
    summary = ingest([SAMPLE / "logs", SAMPLE / "witness", folder], tmp_path_factory.mktemp("case") / "case", jobs=2)
    views = (*row_times.VIEWS, "topic_partition", "group_snapshot", "config_value")
    return with_views(summary.case, engine(jobs=2), views, rules=["stale-status"])


def rows(case, view: str) -> list[dict]:
    return ds.dataset(str(case.view_path(view)), format="parquet").to_table().to_pylist()


def test_a_witness_is_a_source_of_its_kind_and_no_process(case) -> None:
    kinds = {r["path"].rpartition("/")[2]: r["kind"] for r in rows(case, "source_file")}
    assert kinds["server.log"] == kinds["connect.log"] == "log"
    assert kinds["kafka-topics-describe.txt"] == "topics_described"
    assert kinds["kafka-consumer-groups-members.txt"] == kinds["kafka-consumer-groups-state.txt"] == "groups_described"
    assert kinds["dump-offsets-broker1-7.txt"] == "offsets_dump"
    assert kinds["rest-w1-connectors.json"] == kinds["true.txt"] == "connect_rest"
    assert kinds["w1.properties"] == "properties"
    assert {r["process_id"] for r in rows(case, "process")} == {"broker-1/server.log", "w1/connect.log", "w2/connect.log", "w3/connect.log"}
    broken = next(r for r in rows(case, "source_file") if r["path"].endswith("broken.json"))
    assert "incomplete" in broken["note"]


def test_partitions_groups_and_configurations(case) -> None:
    partitions = rows(case, "topic_partition")
    assert {(p["topic"], p["leader"], tuple(p["replicas"]), p["under_replicated"]) for p in partitions if p["topic"] == "__consumer_offsets"} == {
        ("__consumer_offsets", 1, ("1",), False)
    }
    groups = rows(case, "group_snapshot")
    assert {g["group_id"] for g in groups if g["source"] == "groups_described" and g["what"] == "group"} == {"connect-b", "connect-c"}
    stored = sorted(g["generation"] for g in groups if g["source"] == "offsets_dump" and g["what"] == "group")
    assert len(stored) == len(set(stored)) and stored[0] == 1
    seen = {g["generation"] for g in rows(case, "generation") if g["group_id"] == "connect-cluster"}
    assert set(stored) <= seen, "the logs show every generation that the topic kept"
    member = next(g for g in groups if g["what"] == "member" and g["generation"] == stored[-1] and g["source"] == "offsets_dump")
    assert member["worker_url"].startswith("http://10.77.0.") and member["taken_ts"] is not None
    values = {(v["component"], v["key"]): v["value"] for v in rows(case, "config_value") if v["source"] != "log"}
    assert values["worker", "config.storage.topic"] == "connect-cluster-configs"
    assert values["connector", "tasks.max"] and values["topic", "cleanup.policy"]
    assert values["consumer", "sasl.jaas.config"] == "[redacted]"


def test_a_status_that_the_logs_contradict_is_a_finding(case) -> None:
    found = [f for f in rows(case, "finding") if f["rule"] == "stale-status"]
    assert sorted(f["headline"] for f in found) == [
        "Connect reported c-0 as RUNNING on 10.77.0.14:8083 while it ran on worker w1/connect.log",
        "Connect reported c-0 as UNASSIGNED on 10.77.0.14:8083 while it ran on worker w1/connect.log",
    ]
    assert {f["verdict"] for f in found} == {"undecided"}


def test_a_finding_shows_the_lines_of_its_witness(case) -> None:
    finding = next(f for f in rows(case, "finding") if f["rule"] == "stale-status" and "UNASSIGNED" in f["headline"])
    shown = CliRunner().invoke(app, ["show", finding["finding_id"], "--case", str(case.root)]).output
    assert "stale-unassigned.txt" in shown and '"UNASSIGNED"' in shown and "w1/connect.log" in shown
    report = CliRunner().invoke(app, ["report", "--case", str(case.root), "--rule", "stale-status"]).output
    assert "stale-unassigned.txt:4" in report


def test_no_secret_of_a_witness_is_kept_or_shown(case) -> None:
    row = next(v for v in rows(case, "config_value") if v["key"] == "sasl.jaas.config" and v["source"] == "properties")
    shown = CliRunner().invoke(app, ["show", row["event_id"], "--case", str(case.root)]).output
    assert "sasl.jaas.config=[redacted]" in shown and "security.protocol=SASL_SSL" in shown
    assert "geheim" not in shown
    kept = [p for p in case.root.rglob("*") if p.is_file() and b"geheim" in p.read_bytes()]
    assert kept == []
