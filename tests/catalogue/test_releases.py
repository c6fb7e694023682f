# SPDX-License-Identifier: Apache-2.0
"""The release of a process, when no line prints it: by lines of source and wordings."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from facts import version_key
from places import SAMPLES
from written_logs import case_of

from forensics.catalogue.releases import known_releases, releases_of
from forensics.processes.kafka_release import FIRST_MONTHS


def test_numbers_compare_in_order():
    numbers = [version_key(r) for r in known_releases()]
    assert numbers == sorted(set(numbers))
    assert version_key("0.11.0.3") < version_key("1.0.0") < version_key("2.6.1") < version_key("2.10.0") < version_key("4.0.0")


def test_a_line_of_source_tells_more_than_a_wording():
    herder = "org.apache.kafka.connect.runtime.distributed.DistributedHerder"
    assert releases_of(herder, 1397, "INFO", "0.9.0.0..") == "2.3.0..2.3.1 2.8.0..2.8.2"
    assert releases_of("o.a.k.c.r.d.DistributedHerder", 2580, "INFO", "0.9.0.0..").startswith("3.7.0")
    assert releases_of(herder, None, "INFO", "2.4.0..2.8.2, 3.1.0") == "2.4.0..2.8.2  3.1.0"
    assert releases_of(herder, None, "INFO", "0.9.0.0..") is None
    assert releases_of(herder, 1397, "DEBUG", "2.4.0..") is None


def test_every_release_has_the_month_in_which_it_appeared():
    months = FIRST_MONTHS
    assert tuple(months) == known_releases()
    # Within one line of releases, later ones appeared later.
    lines: dict[str, list[str]] = {}
    for release in known_releases():
        lines.setdefault(release.rpartition(".")[0], []).append(months[release])
    assert all(its == sorted(its) for its in lines.values())


@pytest.mark.engine
@pytest.mark.parametrize(
    ("sample", "release"),
    [pytest.param("split-brain-partitioned-worker-2.3.0", "2.3.0", marks=pytest.mark.slow), ("split-brain-frozen-worker-3.9.1", "3.9.1")],
)
def test_a_release_that_nothing_prints_is_found(sample, release, tmp_path):
    logs = {
        f"{log.parent.name}/{log.name}": "".join(t for t in log.open(encoding="utf-8") if "AppInfoParser" not in t)
        for log in (SAMPLES / sample / "logs").glob("*/*.log")
    }
    case = case_of(logs, tmp_path, ["process"])
    found = {r["process_id"]: r for r in pq.read_table(case.view_path("process")).to_pylist()}
    for worker in ("w1/connect.log", "w2/connect.log", "w3/connect.log"):
        assert (found[worker]["kafka_version"], found[worker]["version_how"], found[worker]["version_range"]) == (release, "fingerprint", release)
    first, _, last = found["broker-1/server.log"]["version_range"].partition("..")
    assert version_key(first) <= version_key(release) <= version_key(last or first)
