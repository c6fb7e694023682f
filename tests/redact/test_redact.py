# SPDX-License-Identifier: Apache-2.0
"""A copy without names: no name is left, the answers are the same, and records that are meaningless without names are withheld."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from layout_families import families
from names import counted, read_mapping
from places import SAMPLES
from pyarrow import dataset
from reading import read
from test_layout_families import RECORDS

from forensics.case import views
from forensics.case.ingestion import ingest
from forensics.catalogue.patterns import load
from forensics.errors import EvidenceError, UsageError
from forensics.inventory.inventory import find_evidence
from forensics.offsets_topic.replica_placement import group_partition
from forensics.redact.copying import redact
from forensics.redact.pseudonyms import Pseudonyms
from forensics.redact.vocabulary import Vocabulary
from forensics.redaction import scrub

RECORDINGS = os.environ.get("FORENSICS_RECORDINGS")
SOME = (
    "1.1.1-rolling_bounce-0",
    "2.3.0-debug_levels-0",
    "3.6.2-consumers_eager_debug-0",
    "3.9.1-consumers_static_fenced-0",
    "4.3.1-consumers_kip848-0",
)
SAMPLE_NAMES = sorted(p.name for p in SAMPLES.iterdir() if p.is_dir())
EVIDENCE = [*SAMPLE_NAMES, *(SOME if RECORDINGS else ())]
#: Of those with much at DEBUG the quick tests take the first part of each log: its statements come again and again.
BEGINS = ", the first of it"
BEGINNINGS = [name + BEGINS for name in (SOME[2], SOME[-1])] if RECORDINGS else []
BEGIN_BYTES = 300_000
QUICK = {"split-brain-partitioned-worker-2.3.0", "producer-fenced-4.3.1", "streams-frozen-4.3.1", SOME[0], *BEGINNINGS[-1:]}
#: Columns with the place of a line, or with its text.
PLACES = {"event_id", "file_id", "byte_offset", "stream_pos", "process_id", "path", "message", "text", "thread"}
#: Captures of free text: names in them are replaced, and words that not everybody has.
FREE = {"reason", "client_reason", "cause", "error", "text", "config", "columns", "class_name", "directory", "component", "operation"}


def marked(names: list[str], quick: set[str]) -> list[Any]:
    """Parameters of a test: all but these take minutes together, and are slow tests."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


def folder(name: str) -> Path:
    return SAMPLES / name if (SAMPLES / name).is_dir() else Path(RECORDINGS or "") / name


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the original folder, its copy, and the mapping."""
    known: dict[str, tuple[Path, Path, Path]] = {}

    def made(name: str) -> tuple[Path, Path, Path]:
        if name not in known:
            root = tmp_path_factory.mktemp("redacted")
            source = folder(name)
            if name.endswith(BEGINS):
                source = beginning(folder(name.removesuffix(BEGINS)), root / "beginning")
            redact(source, root / "copy", mapping=root / "names.json")
            known[name] = source, root / "copy", root / "names.json"
        return known[name]

    return made


def beginning(source: Path, target: Path) -> Path:
    """A copy of a folder with the first lines of each log."""
    shutil.copytree(source, target)
    for log in target.rglob("*.log"):
        content = log.read_bytes()
        if len(content) > BEGIN_BYTES:
            log.write_bytes(content[: content.rindex(b"\n", 0, BEGIN_BYTES) + 1])
    return target


@pytest.mark.parametrize("name", marked([*EVIDENCE, *BEGINNINGS], {"split-brain-frozen-worker-3.9.1", SOME[-1] + BEGINS}))
def test_every_event_of_a_copy_is_the_one_it_was(name: str, copies) -> None:
    source, copy, file = copies(name)
    files = json.loads(file.read_text())["files"]
    before = [r for r in read([source]).events if r["path"] in files]
    after = read([copy]).events
    assert len(before) == len(after) > 0
    at = {(r["path"], r["line"], r["event"], n): r for n, r in numbered(after)}
    pairs: dict[str, dict[str, str]] = {}
    for n, old in numbered(before):
        new = at[files[old["path"]], old["line"], old["event"], n]
        assert old.keys() - PLACES == new.keys() - PLACES
        for column in old.keys() - PLACES - FREE:
            for a, b in zip(leaves(old[column]), leaves(new[column]), strict=True):
                assert isinstance(a, str) or a == b, column
                if isinstance(a, str):
                    assert pairs.setdefault(column, {}).setdefault(a, b) == b, f"{column}: {a} has two pseudonyms"
    for column, names in pairs.items():
        assert len(set(names.values())) == len(names), f"{column}: two names have one pseudonym"


def numbered(rows: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Return rows with a number that distinguishes several rows of one line."""
    seen: dict[tuple[Any, ...], int] = {}
    result = []
    for row in rows:
        key = row["path"], row["line"], row["event"]
        seen[key] = seen.get(key, 0) + 1
        result.append((seen[key], row))
    return result


def leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [x for v in value for x in leaves(v)]
    return [x for v in sorted(value.items()) for x in leaves(v)] if isinstance(value, dict) else [value]


@pytest.mark.parametrize("name", marked([*EVIDENCE, *BEGINNINGS], QUICK))
def test_no_name_is_left_in_a_copy(name: str, copies) -> None:
    _, copy, file = copies(name)
    names = {n for kind in json.loads(file.read_text())["names"].values() for n in kind}
    told = {n for n in names if len(n) > 3 and not re.fullmatch(r"[a-z]+", n)}
    assert told
    whole = "\n".join(
        [*(str(f.relative_to(copy)) for f in copy.rglob("*")), *(f.read_text(errors="replace") for f in copy.rglob("*") if f.is_file())]
    )
    # Whole words: `1-a` is no name in the middle of a uuid.
    left = [n for n in told if n in whole and re.search(rf"(?<![A-Za-z0-9]){re.escape(n)}(?![A-Za-z0-9])", whole)]
    assert left == []
    assert not re.search(r"(?<![\d.])(?:10\.77|192\.168|172\.1[6-9])\.\d+\.\d+", whole)


@pytest.mark.parametrize("name", marked([*EVIDENCE, *BEGINNINGS], QUICK))
def test_lines_keep_their_numbers_and_groups_their_partitions(name: str, copies) -> None:
    source, copy, file = copies(name)
    mapping = json.loads(file.read_text())
    for old, new in mapping["files"].items():
        if (source / old).is_file() and not old.endswith(".gz"):
            assert (source / old).read_bytes().count(b"\n") in (n := (copy / new).read_bytes().count(b"\n"), n - 1), old
    for group, about in mapping["groups"].items():
        assert about["partition"] == {n: group_partition(about["pseudonym"], int(n)) for n in about["partition"]}, group


def test_every_example_of_the_catalogue_is_the_same_event_without_its_names(tmp_path: Path) -> None:
    lines = []
    for event in load().events:
        for example in event.examples:
            logger = event.loggers[0] if event.loggers else "client"
            lines.append(f"[2026-11-21 07:51:{len(lines) % 60:02},000] INFO {example.line} ({logger})")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("\n".join(lines) + "\n")
    summary = redact(tmp_path / "in", tmp_path / "out")
    assert summary.counts.damaged <= len(lines) // 50
    assert summary.counts.rewritten > len(lines) * 0.9


#: What a report says of places, in sentences, or of paths and other values that name nothing of Kafka's.
TOLD_OTHERWISE = {
    "headline", "explanation", "advice", "missing", "file_id", "sha256", "byte_offset", "stream_pos", "bytes", "message", "text", "thread", "location",
    "event_id", "witness", "witness_role", "proof", "starts",
}  # fmt: skip
#: Of equally good chains of messages between clocks, any may be reported; settings contain paths, and files that are left out do not exist.
OTHER_VIEWS = {"source_file", "config_value", "setting", "clock_bound"}


@pytest.mark.whole
@pytest.mark.engine
@pytest.mark.parametrize("name", marked([name for name in EVIDENCE if name not in SOME or name == SOME[-1]], {"producer-fenced-4.3.1"}))
def test_all_views_of_a_copy_tell_the_same(name: str, copies, tmp_path: Path, any_engine) -> None:
    source, copy, file = copies(name)
    mapped = read_mapping(file)
    before, after = rows_of_views(source, tmp_path / "before", any_engine), rows_of_views(copy, tmp_path / "after", any_engine)
    assert before.keys() == after.keys()
    differing = {}
    for view in before.keys() - OTHER_VIEWS:
        old, new = counted(before[view], TOLD_OTHERWISE, mapped), counted(after[view], TOLD_OTHERWISE, None)
        if old != new:
            differing[view] = (list((old - new).elements())[:1], list((new - old).elements())[:1])
    assert differing == {}


def rows_of_views(logs: Path, case: Path, runs: Any) -> dict[str, list[dict[str, Any]]]:
    made = views.build(ingest([logs], case).case, runs)
    found = {}
    for view, path in made.views().items():
        found[view] = [decoded(row) for row in dataset.dataset(path, format="parquet").to_table().to_pylist()]
    return found


def decoded(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the texts that are JSON as objects, for their keys are no names."""
    return {k: json.loads(v) if isinstance(v, str) and v.startswith("{") and v.endswith("}") and '":' in v else v for k, v in row.items()}


HEARD = "kafka.coordinator.group.GroupCoordinator"
JOINED = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"


def written(folder: Path, **files: list[str]) -> Path:
    """A folder of logs, each a list of `logger: message`."""
    for name, lines in files.items():
        file = folder / name.replace("__", "/").replace("_log", ".log")
        file.parent.mkdir(parents=True, exist_ok=True)
        told = (line.partition(": ") for line in lines)
        file.write_text(
            "".join(f"[2026-11-21 07:{51 + n // 60}:{n % 60:02},000] INFO {text} ({logger})\n" for n, (logger, _, text) in enumerate(told))
        )
    return folder


def whole(copy: Path) -> str:
    return "\n".join([*(str(f.relative_to(copy)) for f in copy.rglob("*")), *(f.read_text(errors="replace") for f in copy.rglob("*") if f.is_file())])


def joined(client: str, group: str, topic: str) -> list[str]:
    return [
        f"{JOINED}: [Consumer clientId={client}, groupId={group}] Adding newly assigned partitions: {topic}-0, {topic}-1",
        f"{HEARD}: [GroupCoordinator 1]: Preparing to rebalance group {group} in state Stable with old generation 3 (__consumer_offsets-7) "
        f"(reason: Removing member {client}-c5fe7902-ee91-4097-8590-b02864cd2c0e on LeaveGroup; client reason: the consumer is being closed)",
    ]


@pytest.mark.parametrize(
    "group", ["consumer", "connect", "worker", "INFO", "a", "group", "reason", "member", "x.*[a]+", "a|b", "$(x)", "grüße", "orders app", "0", "__x"]
)
def test_a_hostile_group_is_replaced_where_it_is_a_group(group: str, tmp_path: Path) -> None:
    """It may be a word of Kafka: then the words stay words. It may break a line: then the line is withheld."""
    logs = written(tmp_path / "in", w1__app_log=[*joined("c-1", group, "t"), *joined("c-2", "other", "t")])
    summary = redact(logs, tmp_path / "out", mapping=tmp_path / "names")
    before, after = read([logs]).events, read([tmp_path / "out"]).events
    assert len(after) == len(before) - summary.counts.damaged
    pseudonym = json.loads((tmp_path / "names").read_text())["names"]["group"].get(group)
    named = [r["group_id"] for r in after if r.get("group_id")]
    assert group.isdigit() or group not in named
    assert summary.counts.damaged or pseudonym is None or named.count(pseudonym) == [r["group_id"] for r in before].count(group)
    assert [r["event"] for r in after if r.get("group_id") not in (pseudonym, group)] == [r["event"] for r in before if r["group_id"] == "other"]


def test_words_of_kafka_stay_in_running_text(tmp_path: Path) -> None:
    logs = written(tmp_path / "in", app_log=joined("consumer-consumer-1", "consumer", "partitions"))
    redact(logs, tmp_path / "out")
    text = whole(tmp_path / "out")
    assert "[Consumer clientId=consumer-" in text
    assert "client reason: the consumer is being closed" in text
    assert "Adding newly assigned partitions: " in text
    assert "groupId=consumer]" not in text
    assert "partitions-0" not in text


def test_what_no_pattern_knows_is_withheld_unless_it_is_wanted(tmp_path: Path) -> None:
    # Names that no pseudonym, which is made of syllables, can hold.
    said = "com.acme.Billing: Customer Lynx Wyss (lynx@acme.example) at mysql7.acme.example, 10.9.8.7, paid from DE02120300000000202051"
    logs = written(tmp_path / "in", app_log=[*joined("c-1", "orders-eu", "payments"), said])
    summary = redact(logs, tmp_path / "out")
    text = whole(tmp_path / "out")
    assert summary.counts.unrecognised == 1
    assert "[withheld]" in text
    for name in ("Lynx", "Wyss", "acme", "mysql7", "10.9.8.7", "DE0212", "orders", "payments"):
        assert name not in text
    redact(logs, tmp_path / "kept", keep_unrecognised=True)
    text = whole(tmp_path / "kept")
    assert "[withheld]" not in text
    for name in ("Lynx", "Wyss", "lynx", "acme", "mysql7", "10.9.8.7", "DE0212"):
        assert name not in text


def test_an_address_in_a_name_is_the_same_address_with_dashes(tmp_path: Path) -> None:
    coordinator = (
        f"{JOINED}: [Consumer clientId=app-ip-10-1-2-3-0, groupId=orders] Discovered group coordinator {{}}:9092 (id: 2147483646 rack: null)"
    )
    hosts = ("ip-172-23-88-11.eu-west-1.compute.internal", "10-1-2-3.billing.pod.cluster.local", "172.23.88.11", "web_192_168_7_9")
    logs = written(tmp_path / "in", ip_172_23_88_45_log=[coordinator.format(host) for host in hosts])
    (logs / "ip_172_23_88_45.log").rename(logs / "ip-172-23-88-45.log")
    mapping = tmp_path / "names"
    redact(logs, tmp_path / "out", mapping=mapping)
    text = whole(tmp_path / "out")
    assert not re.search(r"172.23.88|10.1.2.3|192.168.7", text)
    dashed = json.loads(mapping.read_text())["addresses"]["172.23.88.11"].replace(".", "-")
    assert f"coordinator ip-{dashed}." in text
    assert [r["event"] for r in read([logs]).events] == [r["event"] for r in read([tmp_path / "out"]).events] == ["coordinator_discovered"] * 4
    assert re.search(r"^ip-198-1[89]-\d+-\d+\.log$", text, re.MULTILINE)


@pytest.mark.parametrize("text", [
    "/::ffff:10.1.2.3:9092", "10.1.2.3_9092", "node_10.1.2.3", "x10.1.2.3", "first\\\\n10.1.2.3", "0a:58:0a:01:02:03", "0A-58-0A-01-02-03", "IP-10-1-2-3", "10.1.2.3/16",
])  # fmt: skip
def test_no_form_of_an_address_is_left_in_kept_text(text: str, tmp_path: Path) -> None:
    redact(
        written(tmp_path / "in", app_log=[*joined("c-1", "orders", "t"), f"com.acme.X: seen {text} here"]), tmp_path / "out", keep_unrecognised=True
    )
    assert not re.search(r"10.1.2.3|1\.2\.3|58.0a", whole(tmp_path / "out"), re.IGNORECASE)


@pytest.mark.parametrize(("name", "kept"), [
    ("acme-broker-20260114", ""), ("acme-INC4711", ""), ("ledger-90210-x", ""), ("acme-kafka-12", "-12"), ("acme123", "123"), ("acme-broker-1001", "broker-1001"),
])  # fmt: skip
def test_long_numbers_in_names_are_replaced_and_short_ones_tell_siblings_apart(name: str, kept: str, tmp_path: Path) -> None:
    logs = written(tmp_path / "in", **{f"{name}__app_log": joined("c-1", name, "t")})
    redact(logs, tmp_path / "out")
    text = whole(tmp_path / "out")
    assert not re.search(r"20260114|4711|90210|acme", text)
    assert f"{kept}]" in text
    assert re.search(rf"^\S*{kept}/app.log$", text, re.MULTILINE)


def test_siblings_look_alike_and_days_of_rotation_stay(tmp_path: Path) -> None:
    logs = written(
        tmp_path / "in", host_ocelot1__connect_log=joined("c-1", "orders", "t"), host_ocelot3__connect_log_2026=joined("host-ocelot3", "orders", "t")
    )
    (logs / "host_ocelot3" / "connect.log_2026").rename(logs / "host_ocelot3" / "connect.log.2026-11-21-07")
    redact(logs, tmp_path / "out")
    one, three = sorted(p.name for p in (tmp_path / "out").iterdir())
    assert one[:-1] == three[:-1]
    assert [p.name for p in (tmp_path / "out").rglob("connect.log*")].count("connect.log.2026-11-21-07") == 1


@pytest.mark.parametrize(("around", "kept"), [
    ({"kubernetes": {"labels": {"acmebank.corp/team": "fossa", "app_kubernetes_io/name": "acme", "binturong_owner": "jd"}, "annotations": {"vault.hcorp/role": "x"}, "pod_ip": "10.1.2.3"}},
     ["kubernetes", "labels", "app_kubernetes_io/name", "annotations", "pod_ip"]),
    ({"attrs": {"tag": "acme", "acmebank.team": "fossa"}, "mdc": {"customer_dingo": "jd", "traceId": "1"}}, ["attrs", "tag", "mdc", "traceId"]),
    ({"acct": "123456789012", "custno": 48213, "geo": 47.3769, "geo2": "8.5417", "ok": True, "retries": 3, "level_value": 20000, "phone": "+41 79 123 45 67"}, ["level_value"]),
])  # fmt: skip
def test_keys_and_numbers_of_json_are_replaced_but_for_those_of_encoders_and_collectors(
    around: dict[str, Any], kept: list[str], tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    head = {"@timestamp": "2026-11-21T08:15:41.355Z", "level": "INFO", "logger_name": JOINED, "thread_name": "main"}
    lines = [{**head, "message": line.partition(": ")[2], **around} for line in joined("c-1", "orders", "t")]
    lines.append({**head, "message": "Jane paid", "logger_name": "com.acme.Billing", **around})
    (tmp_path / "in" / "app.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for keep in (False, True):
        redact(tmp_path / "in", tmp_path / f"out{keep}", keep_unrecognised=keep)
        text = whole(tmp_path / f"out{keep}")
        assert not re.search(r"acme|fossa|binturong|hcorp|vault|dingo|geo|acct|custno|1234567|48213|47\.3|8\.5417|79 123|10\.1\.2", text)
        assert all(f'"{key}": ' in text for key in kept)
        assert "20000" in text or "level_value" not in kept
        assert len(read([tmp_path / f"out{keep}"]).events) == len(read([tmp_path / "in"]).events) > 0


def test_settings_of_kafka_keep_keys_and_numbers_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = ["bootstrap.servers=b:9092", "group.id=orders", "max.poll.interval.ms=300000", "fetch.max.bytes=52428800", "acme.account.id=123456789012"]
    (tmp_path / "in" / "client.properties").write_text("\n".join(lines) + "\n")
    connector = {
        "name": "gold",
        "config": {
            "connector.class": "com.acme.Sink",
            "tasks.max": "2",
            "transforms.mask.type": "x",
            "acme.vault.path": "a/b",
            "flush.timeout.ms": "100000",
        },
    }
    (tmp_path / "in" / "rest.json").write_text(json.dumps({**connector, "tasks": [{"connector": "gold", "task": 0}], "type": "sink"}))
    summary = redact(tmp_path / "in", tmp_path / "out")
    text = whole(tmp_path / "out")
    assert summary.files == 2
    assert "max.poll.interval.ms=300000" in text
    assert "fetch.max.bytes=52428800" in text
    assert '"flush.timeout.ms": "100000"' in text
    assert "transforms.mask.type" in text
    assert not re.search(r"acme|vault|123456", text)


def test_long_numbers_of_kept_text_are_replaced_and_times_stay(tmp_path: Path) -> None:
    said = "com.acme.Billing: 4111111111111111, 4111 1111 1111 1111, +41 79 123 45 67, 044 123 45 67, 415-555-0123, DE02 1203 0000 0000 2020 51 since 2026-11-21 07:51:22,503 in 250 ms"
    redact(written(tmp_path / "in", app_log=[*joined("c-1", "orders", "t"), said]), tmp_path / "out", keep_unrecognised=True)
    text = whole(tmp_path / "out")
    # A few digits in a row may be drawn again by chance.
    for number in ("4111111111111111", "4111 1111 1111", "79 123 45 67", "044 123 45 67", "415-555-0123", "1203 0000 0000 2020"):
        assert number in said
        assert number not in text
    assert "since 2026-11-21 07:51:22,503 in 250 ms" in text


def test_offsets_and_times_stay_where_a_reader_takes_them(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    head = "GROUP           TOPIC          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID"
    row = "acme-orders     acme-payments  0          1234567890      1234567899      9               -               -               -"
    (tmp_path / "in" / "groups.txt").write_text(f"\n{head}\n{row}\n")
    redact(tmp_path / "in", tmp_path / "out")
    text = whole(tmp_path / "out")
    assert "1234567890" in text
    assert "1234567899" in text
    assert "acme" not in text


def test_a_name_of_one_letter_is_replaced_beside_another_word_and_a_version_is_no_address(tmp_path: Path) -> None:
    logs = written(tmp_path / "in", app_log=joined("c-1", "orders", "a"))
    with (logs / "app.log").open("a") as file:
        file.write(
            "[2026-11-21 07:51:30,000] INFO FileStreamSinkConfig values: \n\tfile = /srv/a.out\n\tjars = [snappy-java-1.1.10.5.jar, x-10.1.2.3.jar]\n (x.Y)\n"
        )
        file.write("[2026-11-21 07:51:31,000] WARN a file of a.in was not read: snappy-java-1.1.10.5.jar (com.acme.Z)\n")
    redact(logs, tmp_path / "out", keep_unrecognised=True)
    text = whole(tmp_path / "out")
    assert not re.search(r"\ba\.(?:in|out)|10\.1\.2\.3", text)
    assert "a file of " in text
    assert re.search(r"\.in was not read: [a-z]+-java-1\.1\.10\.5\.jar", text)


def test_secrets_and_stack_traces(tmp_path: Path) -> None:
    logs = written(tmp_path / "in", app_log=joined("c-1", "orders", "payments"))
    with (logs / "app.log").open("a") as file:
        file.write(
            "[2026-11-21 07:52:00,000] ERROR [sink|task-0] WorkerSinkTask{id=sink-0} Task threw an uncaught and unrecoverable exception. Task is being killed and "
            "will not recover until manually restarted (org.apache.kafka.connect.runtime.WorkerTask)\n"
            "com.acme.ledger.LedgerException: jdbc:postgresql://ledger-db:5432/gold?user=jwick&password=Gold4711 refused\n"
            "\tat com.acme.ledger.LedgerSink.put(LedgerSink.java:12)\n\tat org.apache.kafka.connect.runtime.WorkerSinkTask.deliver(WorkerSinkTask.java:1)\n"
            "Caused by: java.net.ConnectException: ledger-db/10.1.2.3:5432\n\t... 12 more\n"
        )
    redact(logs, tmp_path / "out")
    text = whole(tmp_path / "out")
    # Made-up names are of syllables: none of these is.
    for name in ("acme", "ledger", "Ledger", "gold", "jwick", "Gold4711", "10.1.2.3", "sink-0"):
        assert name not in text
    assert "\tat org.apache.kafka.connect.runtime.WorkerSinkTask.deliver(WorkerSinkTask.java:1)" in text
    assert "java.net.ConnectException" in text
    assert [r["event"] for r in read([logs]).events] == [r["event"] for r in read([tmp_path / "out"]).events]


def test_names_in_bytes_are_names(tmp_path: Path) -> None:
    metadata = ", ".join(str(b) for b in b"\x00\x01\x00\x1bhttp://connect-db7.acme:8083/" + b"\xff" * 4)
    line = (
        "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator: [Worker clientId=connect-1, groupId=etl] Sending JoinGroup (JoinGroupRequestData(groupId='etl', "
        "sessionTimeoutMs=6000, rebalanceTimeoutMs=20000, memberId='', groupInstanceId=null, protocolType='connect', "
        f"protocols=[JoinGroupRequestProtocol(name='compatible', metadata=[{metadata}])])) to coordinator db7.acme:9092 (id: 2147483646 rack: null)"
    )
    redact(written(tmp_path / "in", app_log=[line]), tmp_path / "out")
    assert metadata[20:] not in whole(tmp_path / "out")
    assert "100, 98, 55" not in whole(tmp_path / "out")


def test_the_same_mapping_gives_the_same_names_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    one = written(tmp_path / "one", app_log=joined("c-1", "orders", "payments"))
    two = written(tmp_path / "two", app_log=[*joined("c-1", "orders", "payments"), *joined("c-9", "ledger", "payments")])
    redact(one, tmp_path / "a", mapping=tmp_path / "names")
    assert stat.S_IMODE((tmp_path / "names").stat().st_mode) == 0o600
    first = json.loads((tmp_path / "names").read_text())["names"]
    redact(two, tmp_path / "b", mapping=tmp_path / "names")
    second = json.loads((tmp_path / "names").read_text())["names"]
    for kind, names in first.items():
        assert names.items() <= second[kind].items()
    assert "ledger" in second["group"]
    redact(one, tmp_path / "c")
    assert whole(tmp_path / "a") != whole(tmp_path / "c")
    assert not [f for f in (tmp_path / "a").rglob("*") if "names" in f.name]


def test_it_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = written(tmp_path / "in", app_log=joined("c-1", "orders", "payments"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    for target, mapping in (
        (tmp_path / "full", None),
        (logs / "copy", None),
        (logs, None),
        (tmp_path / "out", tmp_path / "out" / "names"),
        (tmp_path / "no" / "out", None),
    ):
        with pytest.raises(UsageError):
            redact(logs, target, mapping=mapping)
    monkeypatch.setattr("forensics.redact.copying._Redaction.compare", lambda self, stage, options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        redact(logs, tmp_path / "out", mapping=tmp_path / "names")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["full", "in"]


def test_archives_and_rotated_files_stay_apart(tmp_path: Path) -> None:
    logs = tmp_path / "in"
    logs.mkdir()
    plain = written(
        tmp_path / "plain", ledger1__connect_log=joined("c-1", "orders", "payments"), ledger2__connect_log=joined("c-2", "orders", "payments")
    )
    (logs / "ledger1").mkdir()
    (logs / "ledger1" / "connect.log.1.gz").write_bytes(gzip.compress((plain / "ledger1/connect.log").read_bytes()))
    (logs / "ledger1" / "connect.log").write_text("".join((plain / "ledger1/connect.log").read_text().replace("07:51", "07:59")))
    with zipfile.ZipFile(logs / "bundle.zip", "w") as file:
        file.write(plain / "ledger2/connect.log", "ledger2/connect.log")
    redact(logs, tmp_path / "out")
    before, after = read([logs]), read([tmp_path / "out"])
    assert len(after.events) == len(before.events) == 6
    assert len({r["process_id"] for r in after.events}) == len({r["process_id"] for r in before.events}) == 2
    assert "ledger" not in whole(tmp_path / "out")
    packed = next((tmp_path / "out").rglob("connect.log.1.gz"))
    assert gzip.decompress(packed.read_bytes()).count(b"\n") == 2


def test_what_is_cut_off_is_cut_off_in_the_copy(tmp_path: Path) -> None:
    logs = written(tmp_path / "plain", app_log=[*joined("c-1", "orders", "payments"), *(f"{JOINED}: [Consumer clientId=c-{n}, groupId=orders] Member c-{n}-"
                   f"{n:08}-9e4f-4b2d-9b5d-ab8dfbbd4bed sending LeaveGroup request" for n in range(300))])  # fmt: skip
    packed = gzip.compress((logs / "app.log").read_bytes())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "app.log.gz").write_bytes(packed[: len(packed) * 2 // 3])
    summary = redact(tmp_path / "in", tmp_path / "out")
    ((path, reason),) = summary.faults
    assert path == "app.log.gz"
    assert "truncated" in reason
    before, after = ingest([tmp_path / "in"], tmp_path / "a").faults, ingest([tmp_path / "out"], tmp_path / "b").faults
    assert [p for p, _ in before] == [p for p, _ in after] == ["app.log.gz"]
    assert "truncated" in after[0][1]
    assert [(r["event"], r["line"]) for r in read([tmp_path / "in"], broken=True).events] == [
        (r["event"], r["line"]) for r in read([tmp_path / "out"], broken=True).events
    ]


def test_damage_is_said_and_is_the_same_damage_in_the_copy(tmp_path: Path) -> None:
    logs = written(tmp_path / "in", app_log=[*joined("c-1", "orders", "payments"), *joined("c-2", "orders", "payments")])
    data = (logs / "app.log").read_bytes()
    end = data.index(b"\n") + 1
    garbage = b"\xff\x01 orders \x80\n" * 3
    (logs / "app.log").write_bytes(data[:end] + garbage + bytes(40) + data[end:].rstrip() + b"\n")
    summary = redact(logs, tmp_path / "out")
    notes = {part: e.fault for part in ("in", "out") for e in find_evidence([tmp_path / part])}
    assert summary.faults == [("app.log", notes["in"])]
    assert "3 lines of bytes that are no text, the first is line 2" in notes["in"]
    assert [part.split(" (")[0] for part in notes["out"].split("; ")] == [part.split(" (")[0] for part in notes["in"].split("; ")]
    copy = next((tmp_path / "out").rglob("*.log")).read_bytes()
    assert b"orders" not in copy
    assert copy.count(b"\n") == (logs / "app.log").read_bytes().count(b"\n")


def test_nothing_to_copy_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    for name, content in (("empty", None), ("junk.txt", b"hello\n"), ("random.gz", bytes(range(256)) * 9), ("bad.zip", b"PK\x03\x04" + b"x" * 99)):
        source = tmp_path / "in" / name
        source.parent.mkdir(exist_ok=True)
        source.mkdir() if content is None else source.write_bytes(content)
        with pytest.raises(EvidenceError, match="Nothing in .* can be copied") as told:
            redact(source, tmp_path / "out", mapping=tmp_path / "names")
        assert told.value.exit_code == 3
        assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_a_file_is_no_folder_to_write_to_and_a_list_no_mapping(tmp_path: Path) -> None:
    logs = written(tmp_path / "in", app_log=joined("c-1", "orders", "payments"))
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        redact(logs, tmp_path / "file")
    for content in ("[]", "{bad", "{}", '{"key": 1}', '{"key": "ab", "words": [], "addresses": {}, "uuids": {}, "names": {}}'):
        (tmp_path / "names").write_text(content)
        with pytest.raises(UsageError, match="is not a mapping") as told:
            redact(logs, tmp_path / "out", mapping=tmp_path / "names")
        assert "Error" not in str(told.value.why)
        assert (tmp_path / "names").read_text() == content


#: What collectors, encoders and terminals make of a log, one of each kind.
WRAPPED = (
    "Loki JSON",
    "CRI",
    "docker-compose, coloured",
    "ECS, nested",
    "docker json-file",
    "Spring Boot in colours",
    "zgrep of rotated files",
    "UTF-16 LE",
    "GELF",
)


@pytest.mark.parametrize("name", WRAPPED)
def test_no_name_is_left_in_other_layouts(name: str, tmp_path: Path) -> None:
    """Every event of the same log in another layout appears again, without its hosts, groups and topics."""
    family = next(f for f in families() if f.name == name)
    logs = tmp_path / "in"
    logs.mkdir()
    (logs / "some.log").write_bytes(family.render(RECORDS))
    redact(logs, tmp_path / "out")
    before, after = read([logs]).events, read([tmp_path / "out"]).events
    lost = 1 if name == "Spring Boot in colours" else 0  # a start whose logger is shortened is withheld there
    assert len(before) - len(after) <= lost
    assert not re.search(r"10\.77\.|lab-input|connect-cluster|orders-app|LRz28|connector-consumer-b-", whole(tmp_path / "out"))


def test_what_follows_a_pseudonym_is_not_taken_for_a_secret() -> None:
    """`tokenelifi-2.5.0.jar:/srv/libs` would lose all text after it, and an event with it."""
    pseudonyms = Pseudonyms(Vocabulary(*[frozenset[str]()] * 6), key=bytes(32))
    lost = [text for n in range(60_000) if (text := f"{pseudonyms.passing(f'word{n}')}:/srv/libs/") != scrub(text)]
    assert not lost
