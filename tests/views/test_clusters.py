# SPDX-License-Identifier: Apache-2.0
"""The Kafka cluster belongs to a life of a process: a broker that began as a new, empty cluster where another had been, and those who met it."""

from __future__ import annotations

from functools import cache

import pyarrow.dataset as ds
import pytest
from some_views import found_by
from written_logs import CLIENT, case_of, joined, stamp

pytestmark = pytest.mark.engine
LIVES = 4
SERVER = "kafka.server.KafkaServer"
GROUPS = "kafka.coordinator.group.GroupCoordinator"


def cluster(life: int) -> str:
    return f"cluster-{life}-AAAAAAAAAAAA"


def broker(
    number: int = 0, lives: int = LIVES, directory: str = "/tmp/kafka-logs", emptied: bool = True, clusters: tuple[int, ...] = (), serves: bool = True
) -> str:
    """A broker that starts every minute, each time as another cluster, and serves one generation of group `orders` with the member of that life."""
    out = []
    for life in range(lives):
        at = 60 * life
        lines = [
            (0, "Registered kafka:type=kafka.Log4jController MBean", "kafka.utils.Log4jControllerRegistration$"),
            (0.1, "starting", SERVER),
            (0.2, f"Cluster ID = {cluster(clusters[life] if clusters else life)}", SERVER),
            *([(0.3, f"No meta.properties file under dir {directory}/meta.properties", "kafka.server.BrokerMetadataCheckpoint")] if emptied else []),
            (
                0.4,
                f"KafkaConfig values: \n\tadvertised.listeners = null\n\tbroker.id = {number}\n\tlog.dir = /tmp/kafka-logs\n\tlog.dirs = {directory}\n",
                "kafka.server.KafkaConfig",
            ),
            (1, f"[KafkaServer id={number}] started", SERVER),
            (
                10.01,
                f"[GroupCoordinator {number}]: Preparing to rebalance group orders in state PreparingRebalance with old generation 0 (__consumer_offsets-12) "
                f"(reason: Adding new member c-{life} with group instanceid None)",
                GROUPS,
            ),
            (13, f"[GroupCoordinator {number}]: Stabilized group orders generation 1 (__consumer_offsets-12)", GROUPS),
            (13.01, f"[GroupCoordinator {number}]: Assignment received from leader for group orders for generation 1", GROUPS),
        ]
        out += [f"{stamp(at + s)} INFO {message} ({logger})\n" for s, message, logger in lines if serves or logger != GROUPS]
    return "".join(out)


def consumer(lives: int = LIVES) -> str:
    """One consumer that is not restarted: it meets one cluster after the other."""
    prefix, out = "[Consumer clientId=c, groupId=orders] ", []
    for life in range(lives):
        at = 60 * life
        lines = [
            (9.9, f"Cluster ID: {cluster(life)}", "org.apache.kafka.clients.Metadata"),
            (10, "(Re-)joining group", f"{CLIENT}.ConsumerCoordinator"),
        ]
        logger = f"{CLIENT}.ConsumerCoordinator"
        lines += [(13.02 + n / 100, m, logger) for n, m in enumerate(joined(1, f"c-{life}", "orders-0")[:2])]
        out += [f"{stamp(at + s)} INFO {prefix}{message} ({name})\n" for s, message, name in lines]
    return "".join(out)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    logs = {
        "b0/server.log": broker(),
        "c/consumer.log": consumer(),
        # Two brokers' logs in one file: their ids come back.
        "mixed/server.log": broker(7, 4, "/data/kafka", clusters=(100, 101, 100, 101), serves=False),
        # Pointed at another directory: no line says that one was empty.
        "moved/server.log": broker(8, 2, "/data/moved", emptied=False, clusters=(200, 201), serves=False),
    }
    views = ("generation", "process", "member_generation", "rule_generation_reset", "rule_cluster_replaced")
    case = case_of(logs, tmp_path_factory.mktemp("clusters"), views)

    @cache
    def of(view: str) -> list[dict[str, object]]:
        if view in ("generation-reset", "cluster-replaced"):
            return found_by(case, view)
        return ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()

    return of


def test_each_life_has_its_own_cluster(rows):
    generations = {(g["kafka_cluster"], g["generation"]) for g in rows("generation") if g["coordinator"] == "b0/server.log"}
    assert generations == {(cluster(life), 1) for life in range(LIVES)}
    process = {p["process_id"]: p for p in rows("process")}["b0/server.log"]
    assert process["kafka_cluster"] == cluster(LIVES - 1)
    assert process["kafka_clusters"] == [cluster(life) for life in range(LIVES)]


def test_a_client_belongs_to_the_cluster_that_it_met(rows):
    met = {(m["kafka_cluster"], m["member_id"]) for m in rows("member_generation") if m["process_id"] == "c/consumer.log"}
    assert met == {(cluster(life), f"c-{life}") for life in range(LIVES)}
    assert all(g["seen_by_members"] == 1 for g in rows("generation") if g["coordinator"] == "b0/server.log")


def test_no_group_lost_its_metadata(rows):
    assert [f["headline"] for f in rows("generation-reset")] == []


def test_a_new_cluster_is_said_once_with_the_directory(rows):
    found = {f["subject"]: f for f in rows("cluster-replaced")}
    assert len(found) == len(rows("cluster-replaced"))
    assert sorted(found) == ["b0/server.log", "moved/server.log"]
    lost = found["b0/server.log"]
    assert (lost["severity"], lost["verdict"]) == ("critical", "proved")
    assert "/tmp/kafka-logs was lost" in lost["headline"]
    assert f"{LIVES - 1} times" in lost["headline"]
    assert found["moved/server.log"]["verdict"] == "undecided"
