# SPDX-License-Identifier: Apache-2.0
"""Lines that must be missing: what the lines that are left say of it, and how far an ownership is certain then."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow.dataset as ds
import pytest
from places import SAMPLES
from written_logs import CONNECT, case_of, config, consumer, joined, stamp, told

pytestmark = pytest.mark.engine
SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
START_MS = int(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp() * 1000)


def consumer_of(group: str, *lines: tuple[float, str | list[str]]) -> dict[str, str]:
    return {f"{group}/app.log": consumer(f"{group}1", group, *told((0, config(f"{group}1", group)), (1, "(Re-)joining group"), *lines))}


def listed(owned: str, added: str) -> str:
    """A cooperative member's record of its assignment."""
    return (
        f"Updating assignment with\n\tAssigned partitions:                       [{owned}, {added}]\n"
        f"\tCurrent owned partitions:                  [{owned}]\n"
        f"\tAdded partitions (assigned - owned):       [{added}]\n\tRevoked partitions (owned - assigned):     []\n"
    )


def cooperative(generation: int, member: str, *messages: str) -> list[str]:
    who = f"Generation{{generationId={generation}, memberId='{member}', protocol='cooperative-sticky'}}"
    return [f"Successfully joined group with generation {who}", f"Successfully synced group in generation {who}", *messages]


def broker(*lines: tuple[float, str]) -> str:
    return "".join(f"{stamp(at)} INFO [GroupCoordinator 1]: {message} (kafka.coordinator.group.GroupCoordinator)\n" for at, message in lines)


def preparing(group: str, old: int, reason: str) -> str:
    return f"Preparing to rebalance group {group} in state PreparingRebalance with old generation {old} (__consumer_offsets-1) (reason: {reason})"


LEAVING = "Member {}1-id sending LeaveGroup request to coordinator b:9092 (id: 2147483646 rack: null) due to the consumer is being closed"

CONSUMERS = (
    # What it was given is what it gives up: nothing is missing.
    consumer_of("whole", (2, joined(1, "whole1-id", "t-0", "t-1")), (40, ["Revoke previously assigned partitions t-0, t-1", LEAVING.format("whole")]))
    # It gives up other partitions than it was given: it was given them in a generation whose lines are not there.
    | consumer_of("lists", (2, joined(1, "lists1-id", "t-0", "t-1")), (40, ["Revoke previously assigned partitions t-0", LEAVING.format("lists")]))
    # The line that took t-1 is not there; what it owns at 20 s is.
    | consumer_of(
        "named",
        (2, cooperative(1, "named1-id", "Adding newly assigned partitions: t-0, t-1")),
        (20, cooperative(2, "named1-id", listed("t-0", "t-2"), "Adding newly assigned partitions: t-2")),
        (40, ["Revoke previously assigned partitions t-0, t-2", LEAVING.format("named")]),
    )
    # What it was given in generation 2 is not there: that line stood between the generation and the next request.
    | consumer_of(
        "relisted",
        (2, joined(1, "relisted1-id", "t-0", "t-1")),
        (10, ["Revoke previously assigned partitions t-0, t-1", "(Re-)joining group"]),
        (12, joined(2, "relisted1-id")[:2]),
        (20, ["Request joining group due to: group is already rebalancing"]),
        (40, ["Revoke previously assigned partitions t-2", LEAVING.format("relisted")]),
    )
    # Its coordinator knows it in generation 3 when it leaves; its own log ends with generation 1.
    | consumer_of(
        "ahead", (2, joined(1, "ahead1-id", "t-0", "t-1")), (40, ["Revoke previously assigned partitions t-0, t-1", LEAVING.format("ahead")])
    )
    | {
        "broker-1/server.log": broker(
            (20, preparing("ahead", 1, "Adding new member other with group instance id None")),
            (21, preparing("ahead", 2, "Adding new member third with group instance id None")),
            (40.1, preparing("ahead", 3, "Removing member ahead1-id on LeaveGroup; client reason: the consumer is being closed")),
            # The end of generation 6's join phase is not there.
            (50, preparing("phases", 5, "Adding new member one with group instance id None")),
            (76, preparing("phases", 6, "Removing member one on LeaveGroup; client reason: none")),
            (80, "Stabilized group phases generation 7 (__consumer_offsets-1) with 1 members"),
        )
    }
)


def worker(*lines: tuple[float, str, str]) -> str:
    return "".join(f"{stamp(at)} INFO {message} ({CONNECT}.{logger})\n" for at, message, logger in lines)


HERDER, OF_WORKER = "distributed.DistributedHerder", "Worker"
GENERATION = "Generation{{generationId={}, memberId='w-1', protocol='sessioned'}}"


def assigned(at: float, generation: int, *tasks: str) -> list[tuple[float, str, str]]:
    prefix = "[Worker clientId=w, groupId=connect] "
    assignment = (
        f"Assignment{{error=0, leader='w-1', leaderUrl='http://w:8083/', offset=1, connectorIds=[], taskIds=[{', '.join(tasks)}], "
        "revokedConnectorIds=[], revokedTaskIds=[], delay=0}"
    )
    coordinator = "distributed.WorkerCoordinator"
    return [
        (at, f"{prefix}Successfully joined group with generation {GENERATION.format(generation)}", coordinator),
        (at + 0.01, f"{prefix}Successfully synced group in generation {GENERATION.format(generation)}", coordinator),
        (at + 0.02, f"{prefix}Joined group at generation {generation} with protocol version 2 and got assignment: {assignment}", HERDER),
    ]


def started(at: float, task: str) -> list[tuple[float, str, str]]:
    context = f"[{task.replace('-', '|task-')}] "
    return [
        (at, f"[Worker clientId=w, groupId=connect] Starting task {task}", HERDER),
        (at + 0.01, f"{context}Creating task {task}", OF_WORKER),
        (at + 0.02, f"{context}WorkerSinkTask{{id={task}}} Sink task finished initialization and start", "WorkerSinkTask"),
        (at + 0.03, f"{context}WorkerSinkTask{{id={task}}} Executing sink task", "WorkerSinkTask"),
    ]


def unregistered(at: float, task: str) -> str:
    context = f"[{task.replace('-', '|task-')}] "
    return f"{stamp(at)} INFO {context}App info kafka.consumer for connector-consumer-{task} unregistered (org.apache.kafka.common.utils.AppInfoParser)\n"


STOPPED = "[Worker clientId=w, groupId=connect] Finished stopping tasks in preparation for rebalance"
BEGINNING = [(1, "Kafka Connect worker initializing ...", "cli.ConnectDistributed"), (2, "Herder starting", HERDER)]

WORKERS = {
    # The worker says that all tasks have stopped, and the task closes its consumer 30 s later: the worker had given up on it.
    "given-up/connect.log": worker(
        *BEGINNING,
        *assigned(3, 1, "b-0"),
        *started(4, "b-0"),
        (30, "[b|task-0] Stopping task b-0", OF_WORKER),
        (35, STOPPED, HERDER),
    )
    + unregistered(65, "b-0"),
    # A task that stopped in time: the worker continues immediately.
    "in-time/connect.log": worker(
        *BEGINNING,
        *assigned(3, 1, "b-0"),
        *started(4, "b-0"),
        (30, "[b|task-0] Stopping task b-0", OF_WORKER),
        (31, STOPPED, HERDER),
        *assigned(40, 2, "b-0"),
        *started(41, "b-0"),
    ),
    # The worker waited as long as it ever waits. It may have said that it gave up, in a line that is not there.
    "waited/connect.log": worker(
        *BEGINNING,
        *assigned(3, 1, "b-0"),
        *started(4, "b-0"),
        (30, "[b|task-0] Stopping task b-0", OF_WORKER),
        (35.01, STOPPED, HERDER),
        *assigned(40, 2, "b-0"),
        *started(41, "b-0"),
    ),
    # All lines that make the second thread are missing but the order to start it.
    "ordered/connect.log": worker(
        *BEGINNING,
        *assigned(3, 1, "b-0"),
        *started(4, "b-0"),
        (30, "[b|task-0] Stopping task b-0", OF_WORKER),
        (31, STOPPED, HERDER),
        *assigned(40, 2, "b-0"),
        *[line for line in started(41, "b-0") if "Creating" not in line[1]],
    ),
    # Task b-1 was never started here, and stops: a stretch is missing, and b-0 may have stopped and started in it.
    "unstarted/connect.log": worker(
        *BEGINNING,
        *assigned(3, 1, "b-0"),
        *started(4, "b-0"),
        (50, "[b|task-1] Stopping task b-1", OF_WORKER),
        (50.001, "[b|task-0] Stopping task b-0", OF_WORKER),
    ),
}


#: The views that these tests read.
READ = ("holding", "log_hole", "client_event", "broker_generation", "coverage")


def rows(case, view):
    return ds.dataset(str(case.view_path(view)), format="parquet").to_table().to_pylist()


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return case_of(CONSUMERS | {path: named(path.split("/")[0], text) for path, text in WORKERS.items()}, tmp_path_factory.mktemp("lost"), READ)


def named(worker: str, text: str) -> str:
    """A worker's log with ids of its own: logs that say the same at the same time are copies of one."""
    return text.replace("clientId=w,", f"clientId={worker},").replace("'w-1'", f"'{worker}-1'")


def seconds(at_ms: int | None) -> float | None:
    """Seconds since the start of the logs."""
    return None if at_ms is None else (at_ms - START_MS) / 1000


def holding(case, process: str, resource: str) -> tuple[float | None, float | None]:
    """Until when it was surely owned, and from when on surely not."""
    (row,) = [r for r in rows(case, "holding") if r["process_id"].startswith(f"{process}/") and r["resource"] == resource]
    return seconds(row["stop_lo_ms"]), seconds(row["stop_hi_ms"])


def test_what_is_given_up_as_it_was_given_was_owned_all_the_time(case):
    assert holding(case, "whole", "t-0") == holding(case, "whole", "t-1") == (40.0, 40.0)


def test_partitions_other_than_those_that_were_given_show_a_hole(case):
    for partition in ("t-0", "t-1"):
        surely, gone = holding(case, "lists", partition)
        assert surely < 3
        assert gone == 40.0


def test_a_list_that_is_missing_is_missed_where_it_stands(case):
    (hole,) = [r for r in rows(case, "log_hole") if r["process_id"] == "relisted/app.log"]
    at = {r["stream_pos"]: seconds(r["at_ms"]) for r in rows(case, "client_event") if r["process_id"] == "relisted/app.log"}
    assert (at[hole["from_pos"]], at[hole["to_pos"]]) == (12.001, 20.0)
    assert holding(case, "relisted", "t-1") == (10.0, 10.0)


def test_a_partition_that_a_later_list_does_not_name_was_taken_before(case):
    surely, gone = holding(case, "named", "t-1")
    assert surely < 3
    assert 20 <= gone < 21
    assert holding(case, "named", "t-0") == (40.0, 40.0)


def test_a_member_that_its_coordinator_knows_in_a_later_generation_has_a_hole(case):
    surely, gone = holding(case, "ahead", "t-0")
    assert surely < 3
    assert gone == 40.0
    (hole,) = [r for r in rows(case, "log_hole") if r["process_id"] == "ahead/app.log"]
    assert (hole["why"], hole["is_wide"]) == ("coordinator_ahead", True)


def test_a_task_that_prints_after_the_word_that_all_have_stopped_was_given_up_on(case):
    assert holding(case, "given-up", "b-0")[1] == 65.0


def ends(case, process: str) -> list[float | None]:
    lives = [r for r in rows(case, "holding") if r["process_id"].startswith(f"{process}/") and r["resource"] == "b-0"]
    return [seconds(row["stop_hi_ms"]) for row in sorted(lives, key=lambda r: r["instance"])]


def test_a_worker_that_goes_on_in_time_has_seen_its_task_end(case):
    assert ends(case, "in-time")[0] == 31.0


def test_a_worker_that_waited_for_as_long_as_it_ever_does_may_have_given_up(case):
    assert ends(case, "waited") == [None, None]


def test_an_order_to_start_begins_a_thread_whose_making_is_missing(case):
    assert ends(case, "ordered") == [31.0, None]


def test_a_task_at_work_that_was_never_started_shows_a_hole(case):
    assert holding(case, "unstarted", "b-0")[0] < 5
    assert "worked_unstarted" in {r["why"] for r in rows(case, "log_hole") if r["process_id"] == "unstarted/connect.log"}


def test_a_generation_begins_with_the_rebalance_of_the_one_before(case):
    (row,) = [r for r in rows(case, "broker_generation") if r["group_id"] == "phases"]
    assert (row["generation"], seconds(row["prepared_ms"])) == (7, 76.0)


def interleaved(*members: str) -> str:
    """One file of several consumers with one client id, as where the logs of all pods are collected into one."""
    lines = told(
        (0, config("pod1", "pods")),
        *((1 + n / 10, "(Re-)joining group") for n, _ in enumerate(members)),
        *((2 + n / 10, joined(1, f"{member}-id", f"t-{n}")) for n, member in enumerate(members)),
        *((20 + n / 10, [f"Revoke previously assigned partitions t-{n}", "(Re-)joining group"]) for n, _ in enumerate(members)),
        *((21 + n / 10, joined(2, f"{member}-id", f"t-{n}")) for n, member in enumerate(members)),
    )
    return consumer("pod1", "pods", *lines)


def test_members_that_cannot_be_told_apart_own_nothing(any_engine, tmp_path):
    case = case_of({"pods/app.log": interleaved("a", "b", "c"), "one/app.log": interleaved("d").replace("pods", "one")}, tmp_path, READ)
    assert {r["process_id"] for r in rows(case, "holding")} == {"one/app.log"}
    (said,) = [r for r in rows(case, "coverage") if r["code"] == "several_members"]
    assert said["process_id"] == "pods/app.log"
    assert said["note"].startswith("3 members of pods joined as client pod1 in this one log.")


@pytest.mark.parametrize("width", [160, None])
def test_lines_that_something_cut_are_told(width, any_engine, tmp_path):
    log = (SAMPLE / "w1" / "connect.log").read_text(encoding="utf-8")
    case = case_of({"w1/connect.log": "".join(f"{line[:width]}\n" for line in log.splitlines())}, tmp_path, READ)
    assert [r["process_id"] for r in rows(case, "coverage") if r["code"] == "cut_lines"] == ["w1/connect.log"] * (width is not None)
