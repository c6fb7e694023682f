"""`forensics offsets-topic`: what dies with each broker, where groups lie, and reassignments that Kafka's own tool accepts."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from typer.testing import CliRunner

from forensics.cli import app
from forensics.errors import UsageError
from forensics.offsets_topic.replica_placement import Placement, group_partition, losses, spread
from forensics.report import offsets_topic as question
from forensics.wording import language

RUN = CliRunner()


@st.composite
def topics(draw: st.DrawFn) -> tuple[list[Placement], dict[int, str | None], int]:
    """A topic over brokers of which some are gone, live brokers with or without racks, and a factor that they can carry."""
    ids = draw(st.lists(st.integers(0, 2000), min_size=1, max_size=9, unique=True))
    live = draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    racks = draw(st.integers(0, 4))
    brokers: dict[int, str | None] = {b: f"r{i % racks}" if racks else None for i, b in enumerate(live)}
    if racks and draw(st.booleans()):  # racks of unequal size
        brokers = {b: draw(st.sampled_from(["r0", "r0", "r1", "r2"])) for b in live}
    factor = draw(st.integers(1, min(4, len(live))))
    placements = []
    for number in range(draw(st.integers(1, 24))):
        replicas = draw(st.lists(st.sampled_from(ids), min_size=1, max_size=min(4, len(ids)), unique=True))
        isr = draw(st.lists(st.sampled_from(replicas), unique=True))
        leader = draw(st.sampled_from([*isr, None])) if isr else None
        placements.append(Placement(number, leader, tuple(replicas), tuple(isr)))
    return placements, brokers, factor


@settings(max_examples=100)
@given(topics())
def test_a_reassignment_is_sound(topic: tuple[list[Placement], dict[int, str | None], int]) -> None:
    placements, brokers, factor = topic
    target = spread(placements, brokers, factor)
    assert target.keys() == {p.partition for p in placements}
    racks = Counter(brokers.values())
    for p in placements:
        replicas = target[p.partition]
        assert len(replicas) == len(set(replicas)) == factor, "as many different brokers as asked for"
        assert set(replicas) <= brokers.keys(), "live ones"
        if p.leader in brokers:
            assert replicas[0] == p.leader, "the leader stays"
        assert len({brokers[b] for b in replicas}) == min(factor, len(racks)), "in as many racks as there are"
    assert spread(placements, brokers, factor) == target, "the same every time"


@settings(max_examples=60)
@given(topics())
def test_loads_differ_by_at_most_one_where_leaders_and_racks_allow_it(topic: tuple[list[Placement], dict[int, str | None], int]) -> None:
    """No replica can be moved from a broker to one that has two less: leaders and racks aside, nothing better is left."""
    placements, brokers, factor = topic
    target = spread(placements, brokers, factor)
    load = {b: sum(b in r for r in target.values()) for b in brokers}
    for p in placements:
        mine = target[p.partition]
        for old in mine:
            if old == p.leader:
                continue
            rest = [brokers[b] for b in mine if b != old]
            for new in brokers.keys() - set(mine):
                same_spread = rest.count(brokers[new]) <= rest.count(brokers[old])
                assert not same_spread or load[old] - load[new] <= 1, (p, old, new, load)


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 3))
@settings(max_examples=60)
def test_even_leaders_give_even_loads(partitions: int, brokers: int, factor: int) -> None:
    if brokers < factor:
        return
    placements = [Placement(n, n % brokers, (n % brokers,), (n % brokers,)) for n in range(partitions)]
    load = Counter(b for r in spread(placements, dict.fromkeys(range(brokers)), factor).values() for b in r)
    counts = [load[b] for b in range(brokers)]
    assert max(counts) - min(counts) <= 1


@given(topics())
@settings(max_examples=60)
def test_what_lies_well_stays(topic: tuple[list[Placement], dict[int, str | None], int]) -> None:
    placements, brokers, factor = topic
    target = spread(placements, brokers, factor)
    now = [Placement(n, r[0], r, r) for n, r in target.items()]
    again = spread(now, brokers, factor)
    assert {n: set(r) for n, r in again.items()} == {n: set(r) for n, r in target.items()}


@pytest.mark.parametrize(
    ("group", "partitions", "expected"),
    # As Kafka's own Utils.abs and Java's String.hashCode give them; the first two are seen in brokers' logs.
    [("connect-cluster", 12, 7), ("orders-app", 12, 1), ("", 50, 0), ("polygenelubricants", 50, 0), ("gruppe-ä-😀", 50, 0), ("group-b", 50, 48)],
)
def test_a_group_lies_where_java_says(group: str, partitions: int, expected: int) -> None:
    assert group_partition(group, partitions) == expected


def test_a_partition_dies_with_its_last_replica_in_sync() -> None:
    placements = [
        Placement(0, 1, (1,), (1,)),
        Placement(1, 1, (1, 2), (1,)),
        Placement(2, 1, (1, 2), (1, 2)),
        Placement(3, 1, (1, 2, 3), (1, 2, 3)),
        Placement(4, 1, (1, 4), (1, 4)),  # 4 is dead: being in a stale ISR does not help
        Placement(5, None, (4,), (4,)),
    ]
    one, two, three = losses(placements, [1, 2, 3], 2)
    assert (one.lost, one.blocked) == ((0, 1, 4), (2,))
    assert (two.lost, two.blocked) == ((), (2,))
    assert (three.lost, three.blocked) == ((), ())
    assert one.leads == (0, 1, 2, 3, 4)


def described(brokers: list[int], partitions: int = 6, topic: str = "__consumer_offsets", config: str = "") -> str:
    rows = [f"Topic: {topic}\tPartitionCount: {partitions}\tReplicationFactor: 1\tConfigs: {config}"]
    rows += [f"\tTopic: {topic}\tPartition: {n}\tLeader: {(b := brokers[n % len(brokers)])}\tReplicas: {b}\tIsr: {b}" for n in range(partitions)]
    return "\n".join(rows) + "\n"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    found = tmp_path / "topics.txt"
    found.write_text(described([1, 2, 3]) + described([1], 1, "orders"))
    return found


def test_the_answer_in_words(file: Path) -> None:
    done = RUN.invoke(
        app, ["offsets-topic", str(file), "--group", "connect-cluster", "--replication-factor", "3", "-o", "r.json"], env={"COLUMNS": "80"}
    )
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in (
        "6 partitions, replication factor 1",
        "connect-cluster",
        "kafka-reassign-partitions",
        "--verify",
        "min.insync.replicas=2",
        "6 leaders stay",
    ):
        assert words in done.stdout, words
    written = json.loads(Path("r.json").read_text())
    assert written["version"] == 1
    assert [(p["topic"], p["partition"], sorted(p["replicas"])) for p in written["partitions"]] == [
        ("__consumer_offsets", n, [1, 2, 3]) for n in range(6)
    ]


def test_the_answer_as_data(file: Path) -> None:
    done = RUN.invoke(
        app, ["offsets-topic", str(file), "--brokers", "1:a,2:a,3:b,4:b", "--replication-factor", "2", "--group", "g", "--format", "json"]
    )
    found = json.loads(done.stdout)
    assert [(b["broker"], b["rack"], b["lost_partitions"]) for b in found["brokers"]] == [
        (1, "a", [0, 3]),
        (2, "a", [1, 4]),
        (3, "b", [2, 5]),
        (4, "b", []),
    ]
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    assert all({racks[b] for b in p["replicas"]} == {"a", "b"} for p in found["reassignment"]["partitions"])
    assert found["groups"][0]["partition"] == group_partition("g", 6)
    assert found["min_insync_replicas"] == {"present": None, "advised": 1}


@pytest.mark.parametrize(
    ("version", "place", "throttled", "topics_by", "configs_by"),
    [
        ("0.10.0", "--zookeeper", False, "--zookeeper", "--zookeeper"),
        ("1.1.1", "--zookeeper", True, "--zookeeper", "--zookeeper"),
        ("2.4", "--zookeeper", True, "--bootstrap-server", "--zookeeper"),
        ("2.5.1", "--zookeeper", True, "--bootstrap-server", "--bootstrap-server"),
        ("2.6", "--bootstrap-server", True, "--bootstrap-server", "--bootstrap-server"),
        ("4.3", "--bootstrap-server", True, "--bootstrap-server", "--bootstrap-server"),
    ],
)
def test_commands_are_those_of_the_release(file: Path, version: str, place: str, throttled: bool, topics_by: str, configs_by: str) -> None:
    asked = question.Request(factor=3, release=question.parse_release(version))
    run, verify, topics_command, configs = (command for _, command in question.answer(file, asked).commands)
    assert place in run and place in verify
    assert ("--throttle" in run) == throttled
    assert topics_by in topics_command and configs_by in configs


def test_another_topic_and_a_compressed_file(file: Path) -> None:
    packed = file.with_suffix(".gz")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    found = question.answer(packed, question.Request(topic="orders", brokers={1: None, 2: None}, factor=2))
    assert found.reassignment == {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["topics.txt", "--replication-factor", "4"], "4 replicas need 4 brokers, and there are 3"),
        (["topics.txt", "--topic", "nope"], "The topic nope is not in"),
        (["none.txt"], "There is no file"),
        (["other.txt"], "is not output of kafka-topics --describe"),
        (["half.txt"], "does not show all partitions"),
        (["topics.txt", "--brokers", "1,x"], "`x` is not a broker"),
        (["topics.txt", "--brokers", "1,1"], "named twice"),
        (["topics.txt", "--brokers", "1:a,2"], "Some brokers have a rack"),
        (["topics.txt", "--output", "r.json"], "needs a reassignment to write"),
        (["topics.txt", "--topic", "orders", "--group", "g"], "Groups are stored in __consumer_offsets"),
        (["topics.txt", "--kafka-version", "new"], "is not a Kafka release"),
        (["topics.txt", "--replication-factor", "0"], "is not a replication factor"),
    ],
)
def test_wrong_use_is_said(file: Path, arguments: list[str], words: str) -> None:
    Path("other.txt").write_text("nothing\n")
    Path("half.txt").write_text(described([1, 2, 3])[:-90])
    done = RUN.invoke(app, ["offsets-topic", *arguments])
    assert isinstance(done.exception, UsageError), done.output
    assert words in str(done.exception)


def test_dead_brokers_are_seen_and_said(tmp_path: Path) -> None:
    text = described([1, 2, 3]).replace("Leader: 3", "Leader: none")
    file = tmp_path / "t.txt"
    file.write_text(text)
    found = question.answer(file, question.Request(factor=2))
    assert (sorted(found.brokers), found.absent) == ([1, 2], [3])
    assert any("No live broker has a copy of partitions 2, 5" in n for n in found.notes)


#: Folders of Kafka's own jars, one a release; `scripts/kafka-jars` makes them.
KAFKA_JARS = sorted(p for p in Path(os.environ.get("FORENSICS_KAFKA_JARS", "/nowhere")).glob("*") if p.is_dir())
PARSE = """
import java.lang.reflect.*;
import java.nio.file.*;

public class Parse {
    public static void main(String[] args) throws Exception {
        String json = new String(Files.readAllBytes(Paths.get(args[0])), "UTF-8");
        System.out.println(parsed(json));
        for (int i = 1; i < args.length; i++)
            System.out.println(org.apache.kafka.common.utils.Utils.abs(args[i].hashCode()) % 50);
    }

    // The tool has been rewritten twice; what reads the file has had these names.
    static Object parsed(String json) throws Exception {
        for (String tool : new String[] {"org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "kafka.admin.ReassignPartitionsCommand"})
            for (String name : new String[] {"parseExecuteAssignmentArgs", "parsePartitionReassignmentData"})
                try {
                    Method read = Class.forName(tool).getDeclaredMethod(name, String.class);
                    read.setAccessible(true);
                    return read.invoke(null, json);
                } catch (ClassNotFoundException | NoSuchMethodException e) {
                    continue;
                }
        throw new IllegalStateException("this release has another parser");
    }
}
"""


@pytest.mark.skipif(not KAFKA_JARS, reason="FORENSICS_KAFKA_JARS names no folder with Kafka's jars")
@pytest.mark.parametrize("jars", KAFKA_JARS, ids=lambda p: p.name)
def test_kafkas_own_parser_reads_it_and_places_groups_alike(file: Path, tmp_path: Path, jars: Path) -> None:
    groups = ["connect-cluster", "orders-app", "", "polygenelubricants", "gruppe-ä-😀", "group-b"]
    RUN.invoke(app, ["offsets-topic", str(file), "--replication-factor", "3", "-o", "r.json"])
    source = tmp_path / "Parse.java"
    source.write_text(PARSE)
    java = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else "java"
    run = subprocess.run(
        [java, "-Dfile.encoding=UTF-8", "-Dsun.jnu.encoding=UTF-8", "-cp", f"{jars}/*", str(source), "r.json", *groups],
        capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    parsed, *places = run.stdout.splitlines()
    for row in json.loads(Path("r.json").read_text())["partitions"]:
        replicas = ", ".join(map(str, row["replicas"]))
        assert re.search(rf"__consumer_offsets-{row['partition']}\b[^\d]*{replicas}\b", parsed), parsed
    assert [int(p) for p in places] == [group_partition(g, 50) for g in groups]


def test_commands_to_paste_quote_what_others_chose(tmp_path: Path) -> None:
    output = str(tmp_path / "a b;x.json")
    asked = question.Request(topic="t;x", brokers={1: None, 2: None}, factor=2, file=output)
    commands = [command for _, command in question._commands(asked, None)]
    assert [word for command in commands for word in shlex.split(command) if word in (output, "t;x")] == [output, output, "t;x"]
    text = "`--group {{ group_id | shell }}`"
    assert language.render(text, {"group_id": "g; rm -rf ~"}) == "`--group 'g; rm -rf ~'`"
    assert language.render(text, {"group_id": "orders"}) == "`--group orders`"


def test_a_rule_names_no_value_of_the_evidence_in_a_command_unquoted() -> None:
    words = ROOT / "sql"
    bare = [
        f"{file.name}: {found[0]}"
        for file in words.rglob("*.toml")
        for found in re.finditer(r"--[a-z-]+ \{\{(?![^}]*\| shell \}\})[^}]*\}\}", file.read_text())
    ]
    assert bare == []
