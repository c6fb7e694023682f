# SPDX-License-Identifier: Apache-2.0
"""The time and rows of the views grow as the log does: owners of one partition, groups, members, and starts of a process."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.dataset
import pytest

from forensics.case import ingestion, materialise
from forensics.case.view_files import View
from forensics.engines.base import Engine

_START = datetime(2026, 11, 21, 9, tzinfo=UTC)
_CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
_APP_INFO = "org.apache.kafka.common.utils.AppInfoParser"
_BROKER = "kafka.coordinator.group.GroupCoordinator"
#: Four times the log may take this many times the processor time, once the start-up that an almost empty log takes is subtracted.
MAX_GROWTH = 5.0
#: A view of the largest log that takes less than this, in seconds, is never too slow.
NOTHING = 2.0


def line(ms: int, message: str, logger: str = _CONSUMER) -> str:
    return f"[{_START + timedelta(milliseconds=ms):%Y-%m-%d %H:%M:%S},{ms % 1000:03d}] INFO {message} ({logger})\n"


def joined(ms: int, client: str, group: str, generation: int, partition: str) -> str:
    """Return the lines of a consumer that joins a group and is assigned a partition."""
    head = f"[Consumer clientId={client}, groupId={group}] "
    member = f"{client}-{uuid.UUID(int=generation << 64 | ms)}"
    its = f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"
    messages = (
        "(Re-)joining group",
        f"Successfully joined group with generation {its}",
        f"Successfully synced group in generation {its}",
        f"Adding newly assigned partitions: {partition}",
    )
    return "".join(line(ms + n, head + message) for n, message in enumerate(messages))


def started(ms: int) -> str:
    return line(ms, "Kafka version: 3.9.1", _APP_INFO) + line(ms + 1, f"Kafka startTimeMs: {1795244400000 + ms}", _APP_INFO)


def expired(n: int) -> str:
    """Return the lines of a coordinator that adds the n-th member and removes the one before it."""
    ms, member, before = 1_000 * n, f"c-{n}-{uuid.UUID(int=n)}", f"c-{n - 1}-{uuid.UUID(int=max(n - 1, 0))}"
    reason = f"(reason: Adding new member {member} with group instance id None; client reason: not provided)"
    preparing = f"Preparing to rebalance group g in state PreparingRebalance with old generation {n} (__consumer_offsets-7) {reason}"
    messages = (
        preparing,
        f"Stabilized group g generation {n + 1} (__consumer_offsets-7) with 1 members",
        f"Assignment received from leader {member} for group g for generation {n + 1}. The group has 1 members, 0 of which are static.",
        *((f"Member {before} in group g has failed, removing it from the group",) if n else ()),
    )
    return "".join(line(ms + 100 * at, f"[GroupCoordinator 1]: {message}", _BROKER) for at, message in enumerate(messages))


def _one_file(part: Callable[[int], str]) -> Callable[[Path, int], None]:
    def write(folder: Path, number: int) -> None:
        folder.mkdir(parents=True)
        (folder / "app.log").write_text("".join(part(n) for n in range(number)), encoding="utf-8")

    return write


def _owners_apart(folder: Path, number: int) -> None:
    """Write a log for each owner: nothing orders their clocks."""
    for n in range(number):
        path = folder / f"h{n}" / "app.log"
        path.parent.mkdir(parents=True)
        path.write_text(joined(1_000 * n, f"c-{n}", "g", n + 1, "t-0"), encoding="utf-8")


owners = _one_file(lambda n: joined(1_000 * n, f"c-{n}", "g", n + 1, "t-0"))
#: What there is more and more of: how many in the smallest log, and what writes the log.
LOGS: dict[str, tuple[int, Callable[[Path, int], None]]] = {
    "owners of one partition": (600, owners),
    "groups": (600, _one_file(lambda n: joined(1_000 * n, f"c-{n}", f"g-{n}", 3, f"t-{n}"))),
    "members": (1_200, _one_file(lambda n: joined(1_000 * n, f"c-{n}", "g", n + 1, f"t-{n}"))),
    "members that the coordinator removes": (1_200, _one_file(expired)),
    "starts": (600, _one_file(lambda n: started(10_000 * n) + joined(10_000 * n + 100, "c-1", "g", n + 1, "t-0"))),
}


def _build(engine: Engine, folder: Path, overrides: dict[str, int] | None = None) -> dict[str, list[dict]]:
    case = ingestion.ingest([folder / "logs"], folder / "case").case
    found = materialise.build(engine, case.tables(), folder / "views", small=True, overrides=overrides)
    return {view: pyarrow.dataset.dataset(found[view]).to_table().to_pylist() for view in ("ownership", "ownership_pair", "coverage")}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_views_take_time_in_proportion_to_the_log(name: str, any_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    least, write = LOGS[name]
    took: list[dict[str, float]] = []
    compute = materialise._Build._compute
    monkeypatch.setattr(materialise, "_PARALLEL_QUERIES", 1)

    def timed(self: materialise._Build, view: View) -> None:
        begun = time.process_time()
        compute(self, view)
        took[-1][view.name] = time.process_time() - begun

    monkeypatch.setattr(materialise._Build, "_compute", timed)
    for number in (2, 2, least, 4 * least):  # the first also starts the engine
        folder = tmp_path / str(len(took))
        write(folder / "logs", number)
        took.append({})
        case = ingestion.ingest([folder / "logs"], folder / "case").case
        materialise.build(any_engine, case.tables(), folder / "views", small=True)
    start, small, large = took[1:]
    grown = {view: (large[view] - start[view]) / max(small[view] - start[view], NOTHING / MAX_GROWTH) for view in large}
    assert {view: growth for view, growth in grown.items() if growth > MAX_GROWTH} == {}
    total = [sum(each.values()) for each in took[1:]]
    assert total[2] - total[0] < MAX_GROWTH * max(total[1] - total[0], NOTHING), total


@pytest.mark.slow
@pytest.mark.parametrize("write", [owners, _owners_apart], ids=["one log", "logs apart"])
def test_of_a_crowd_of_owners_a_few_are_compared_with_all(write: Callable[[Path, int], None], any_engine: Engine, tmp_path: Path):
    write(tmp_path / "logs", 12)
    tables = _build(any_engine, tmp_path, {"owners_compared_most": 2})
    nth = {row["ownership_id"]: n for n, row in enumerate(sorted(tables["ownership"], key=lambda row: row["start_hi"]))}
    pairs = {tuple(sorted((nth[row["a_id"]], nth[row["b_id"]]))) for row in tables["ownership_pair"]}
    # The first two with all; the others with their next four.
    assert pairs == {(a, b) for a in range(12) for b in range(a + 1, 12) if a < 2 or b <= a + 4}
    said = [row for row in tables["coverage"] if row["kind"] == "many_owners"]
    assert said
    assert all("were not compared" in row["note"] and row["facts"]["resources"] == "t-0" for row in said)
    left_out = 66 - len(pairs)
    assert sum(row["facts"]["pairs"] for row in said) >= left_out


@pytest.mark.slow
def test_owners_below_the_limit_are_all_compared(any_engine: Engine, tmp_path: Path):
    owners(tmp_path / "logs", 12)
    tables = _build(any_engine, tmp_path)
    assert len(tables["ownership_pair"]) == 66
    assert [row for row in tables["coverage"] if row["kind"] == "many_owners"] == []
