# SPDX-License-Identifier: Apache-2.0
"""What of the laboratory needs neither root nor Java: its scenarios (played without processes), its files of truth, its errors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import causes
import pytest
from places import ROOT
from truth import Recording

from lab import cluster, machine, platforms, releases, truth
from lab.__main__ import unmet
from lab.releases import Release
from lab.scenarios import SCENARIOS, Names

NEWEST = Release.parse("4.3.1")


class Actor:
    """A process that does nothing, but knows what it was started with."""

    def __init__(self, host, command, output):
        self.host, self.command, self.pid, self.state, self.threads, self.signals = host, command, 1, "running", [], []

    def send(self, number):
        self.signals.append(number)

    def wait(self, seconds):
        return True


class Stage:
    """Hosts without a network."""

    def __init__(self):
        self.address = {}

    def add(self, name):
        return self.address.setdefault(name, f"10.77.0.{len(self.address) + 11}")

    def cable(self, name, *, plugged):
        assert name in self.address


class Limits:
    """A control group of nothing."""

    def __init__(self, controller):
        assert controller in ("memory", "cpu")

    def limit(self, **values):
        assert all(isinstance(value, int) for value in values.values())

    def hold(self, process):
        assert process.pid

    def remove(self):
        pass


@pytest.fixture
def rehearse(tmp_path, monkeypatch):
    """Return a function that plays a scenario without starting anything and returns the run."""
    monkeypatch.setattr(cluster, "KAFKA", tmp_path / "kafka")
    monkeypatch.setattr(cluster, "Hosts", Stage)
    monkeypatch.setattr(cluster, "Process", Actor)
    monkeypatch.setattr(cluster, "call", lambda *command: "")
    monkeypatch.setattr(machine, "Cage", Limits)
    monkeypatch.setattr(machine, "call", lambda *command: "")
    monkeypatch.setattr(
        machine, "out_of_memory", lambda since: [(since * 1000, "Memory cgroup out of memory: Killed process 12 (java) total-vm:1kB")]
    )
    monkeypatch.setattr(cluster, "main_class", lambda libs, name: name)
    clock = [1_795_000_000_000]
    monkeypatch.setattr(cluster, "now_ms", lambda: clock.append(clock[-1] + 1) or clock[-1])
    monkeypatch.setattr(cluster.time, "sleep", lambda seconds: clock.append(clock[-1] + int(seconds * 1000)))
    monkeypatch.setattr(cluster.Run, "rest", lambda *request, **more: {"tasks": [{"id": 1, "state": "FAILED"}]})
    monkeypatch.setattr(cluster.Run, "until", lambda run, what, true, seconds=60: None)

    def play(name, seed=0, release=NEWEST):
        (tmp_path / "kafka").mkdir(exist_ok=True)
        run = cluster.Run(release, tmp_path / f"recording-{seed}")
        for instance in ("s1", "s2"):
            (run.folder / "truth" / f"{instance}.jsonl").write_text("", encoding="utf-8")
        SCENARIOS[name].play(run, Names.of(seed))
        run.did("scenario ends")
        run.finish()
        text = json.dumps(run.truth(name, seed, SCENARIOS[name].notes))
        (run.folder / "truth.json").write_text(text, encoding="utf-8")
        return run

    return play


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("seed", [0, 7])
def test_a_scenario_can_be_played_and_its_deeds_read(rehearse, name, seed):
    run = rehearse(name, seed)
    recording = Recording(run.folder)
    assert recording.scenario == name
    assert recording.start_ms <= recording.end_ms
    for deed in recording.deeds:
        kind = deed["did"].split(" ")[0]
        assert deed["did"] in ("scenario ends", "recording ends", "brokers started") or {kind, "connector", "partition", "consumer"} & {*deed}, deed


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_says_what_it_does_and_what_it_must_leave(name):
    scenario = SCENARIOS[name]
    assert scenario.notes.endswith(".")
    assert scenario.leaves
    for glob, pattern in scenario.leaves:
        assert glob.startswith(("logs/", "truth/", "truth.json", "witness/")), glob
        re.compile(pattern)


def test_a_frozen_worker_is_a_cause_that_the_score_knows(rehearse):
    [done] = causes.done(Recording(rehearse("worker_frozen").folder))
    assert (done.causes, done.subjects) == ({"process_paused"}, {"w2"})
    assert done.at_ms <= done.over_ms


def test_a_streams_instance_holds_a_partition_from_its_assignment_to_its_own_end_of_it(rehearse):
    run = rehearse("streams_frozen")
    began = Recording(run.folder).start_ms
    addresses = {d["streams"]: d["ip"] for d in run.deeds if d["did"] == "streams started"}

    def lines(name, *values):
        (run.folder / "truth" / f"{name}.jsonl").write_text("".join(json.dumps(v) + "\n" for v in values), encoding="utf-8")

    def threads(after, active):
        return {"t_ms": began + after, "state": "RUNNING", "threads": [{"thread": "t-1", "state": "RUNNING", "active": active, "standby": []}]}

    def group(after, state, **partitions):
        members = [{"host": f"/{addresses[name]}", "partitions": held} for name, held in partitions.items()]
        return {"t_ms": began + after, "group": "orders-app", "state": state, "members": members}

    lines("s1", threads(1000, ["0_1"]), threads(9000, []))
    lines("s2", threads(8000, ["0_1"]))
    lines("groups", group(500, "Stable", s1=["orders-1"]), group(2000, "PreparingRebalance", s2=[]), group(3000, "Stable", s2=["orders-1"]))
    recording = Recording(run.folder)
    spans = {s.owner: (s.resource, s.start_ms - began, s.end_ms - began) for s in recording.holding_spans}
    assert spans == {"s1": ("orders-1", 500, 9000), "s2": ("orders-1", 3000, recording.end_ms - began)}


def test_a_seed_changes_what_could_be_learnt_by_heart():
    assert Names.of(0).group == "connect-cluster"
    assert Names.of(7) == Names.of(7)
    assert len({Names.of(seed) for seed in range(1, 20)}) > 15
    for seed in range(20):
        names = Names.of(seed)
        assert {*names.others, names.victim} == {"w1", "w2", "w3"}
        assert {len(name) for name in (names.source, *names.sinks)} == {1}  # the kernel cuts names of threads


def test_task_threads_are_known_by_their_names():
    assert truth.tasks_of(["main", "task-thread-b-1", "task-thread-a-0", "kafka-coordinat"]) == ["a-0", "b-1"]


def test_truth_has_a_line_for_each_change(tmp_path):
    changes = truth.Changes(tmp_path / "x.jsonl")
    for state in ("running", "running", "stopped", "running"):
        changes.note("w1", {"worker": "w1", "state": state})
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["state"] for line in lines] == ["running", "stopped", "running"]
    assert all(line["t_ms"] > 1_700_000_000_000 for line in lines)


def test_a_recording_without_its_fault_does_not_count(tmp_path):
    scenario = SCENARIOS["producer_timed_out"]
    assert len(unmet(tmp_path, scenario)) == len(scenario.leaves)
    (tmp_path / "logs/broker-1").mkdir(parents=True)
    (tmp_path / "truth").mkdir()
    (tmp_path / "logs/broker-1/server.log").write_text("Completed rollback of ongoing transaction for transactionalId x", encoding="utf-8")
    (tmp_path / "truth/p1.jsonl").write_text('{"event":"begun"}\n', encoding="utf-8")
    assert unmet(tmp_path, scenario) == ['truth/p1.jsonl has no line like "(failed|fatal)"']


def test_the_partition_of_a_group_is_the_brokers():
    assert cluster.partition_of("connect-cluster") == 7  # as a real broker's file of it shows
    assert cluster.partition_of("orders-app") == 1


def test_releases_are_ordered_and_refused_in_words():
    assert Release.parse("3.9.1") < Release.parse("3.10.0") < NEWEST
    with pytest.raises(ValueError, match=r"write it like 3\.9\.1"):
        Release.parse("four")
    with pytest.raises(ValueError, match=r"needs ZooKeeper.*oldest release is 3\.3\.0"):
        Release.parse("2.8.2")


@pytest.mark.parametrize(("release", "binding"), [("3.9.1", "slf4j-reload4j"), ("4.3.1", "log4j-core")])
def test_each_release_gets_its_own_jars_and_layout(release, binding):
    parsed = Release.parse(release)
    names = [e.text for e in ET.fromstring(releases.pom(parsed)).iter("{http://maven.apache.org/POM/4.0.0}artifactId")]
    assert {"kafka_2.13", "kafka-tools", "connect-runtime", binding} <= {*names}
    _, text = releases.log_settings(parsed, ROOT / "x.log", releases.CONNECT_LAYOUT, {"org.reflections": "ERROR"})
    assert releases.CONNECT_LAYOUT in text
    assert str(ROOT / "x.log") in text
    assert "org.reflections" in text
    _, bare = releases.log_settings(parsed, ROOT / "x.log", releases.BROKER_LAYOUT, {})
    assert "Logger:" not in bare  # Log4j 2 prints an error about an empty list, which would be in a truth file


def command(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "lab", *arguments], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def test_what_is_missing_is_named_in_one_error(tmp_path):
    code, error = command("4.3.1", "worker_frozen", "--out", str(tmp_path / "recordings"), PATH=str(tmp_path))
    assert code == 2
    assert error.startswith("error: the laboratory needs ")
    assert "ip (iproute2), unshare (util-linux)" in error
    assert "mvn (Maven)" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "recordings").exists()


@pytest.mark.parametrize(("arguments", "words"), [(("2.8.2", "worker_frozen"), "needs ZooKeeper"), (("4.3.1", "no_such"), "worker_frozen")])
def test_a_wrong_word_is_an_error_in_words(arguments, words):
    code, error = command(*arguments)
    assert code == 2
    assert words in error
    assert "Traceback" not in error


def test_the_readme_lists_every_scenario():
    text = (ROOT / "lab" / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} >= {*SCENARIOS}


def test_the_sampler_is_corrected_where_a_process_did_not_run(tmp_path):
    file, pulse = tmp_path / "threads.jsonl", tmp_path / "w2.pauses.jsonl"
    pulse.write_text('{"from_ms":1500,"to_ms":3000}\n{"from_ms":3005,"to_ms":6000}\n{"from_ms":9000,"to_ms":9700}\n', encoding="utf-8")
    assert truth.pauses(pulse) == [(1500, 6000), (9000, 9700)]
    samples = [(1000, "running", ["b-0"]), (2000, "running", ["b-0", "b-1"]), (6200, "running", ["b-1"])]
    lines = [{"t_ms": t, "worker": "w2", "state": state, "tasks": tasks} for t, state, tasks in samples]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    truth.mark_stopped(file, "w2", [(1500, 6000)])
    found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(x["t_ms"], x["state"], x["tasks"]) for x in found] == [
        (1000, "running", ["b-0"]),
        (1500, "stopped", ["b-0"]),
        (2000, "stopped", ["b-0", "b-1"]),
        (6000, "running", ["b-0", "b-1"]),
        (6200, "running", ["b-1"]),
    ]


def test_what_platforms_print_is_recognised_by_its_readers():
    from forensics.snapshots.docker import is_docker, read_docker
    from forensics.snapshots.host_log import is_host_log, read_host_log
    from forensics.snapshots.kubernetes import is_kubernetes, read_kubernetes
    from forensics.snapshots.observation import Line

    at = 1_795_000_000_250
    pod = platforms.Pod("w2", "connect", at + 9000, (at - 60_000, at, "OOMKilled", 137), 1, "600Mi")
    event = platforms.Event("w2", "connect", "Killing", "Container connect failed liveness probe, will be restarted", at, at)
    stopped = [(at, "kill", "signal=15"), (at + 90, "die", "exitCode=143")]
    texts = {
        (is_kubernetes, read_kubernetes): {platforms.listed([pod]): ["oom_killed"], platforms.listed([event]): ["probe_failed"]},
        (is_docker, read_docker): {
            platforms.inspected("w2", at + 9000, at): ["exited"],
            platforms.docker_events("w2", stopped): ["stopped", "exited"],
        },
        (lambda lines: is_host_log(lines, is_whole=True), read_host_log): {
            platforms.journal("kafka.service", "w2", [(at, "kafka.service: Main process exited, code=killed, status=9/KILL")]): ["killed"],
            platforms.kernel_text("w2", [(at * 1000, "Memory cgroup out of memory: Killed process 12 (java) total-vm:1kB")]): ["oom_killed"],
        },
    }
    for (recognises, read), wanted in texts.items():
        for text, whats in wanted.items():
            assert recognises(text.splitlines())
            lines = [Line(number + 1, 0, line.encode(), line) for number, line in enumerate(text.splitlines())]
            assert [it.captures["columns"]["what"] for it in read(lines)] == whats
