# SPDX-License-Identifier: Apache-2.0
"""Redaction of paths and addresses: no log is lost in the copy because of its name, and no form of an address survives."""

from __future__ import annotations

import io
import ipaddress
import random
import secrets
import time
import unicodedata
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.catalogue.patterns import load
from forensics.errors import EvidenceError
from forensics.redact import copying
from forensics.redact.copy_paths import copy_paths
from forensics.redact.copying import redact
from forensics.redact.pseudonyms import Pseudonyms
from forensics.redact.text import Names, Rewriter
from forensics.redact.vocabulary import vocabulary_of

PLACES = (
    "{}", "{}.", "({})", "[{}]", "<{}>", '"{}"', "/{}", "host={}", "addr:{}", "to {}, then", "http://{}/connectors", "tcp://[{}]:9092", "[{}]:9092", "{}:9092", "{}:19092",
    "{}:443", "/{}:9092", "PLAINTEXT://{}:9092", "SASL_SSL://[{}]:9093,", "user@{}", "broker/{}:9092", "{}/64", "{}%eth0", "[{}%2]:9092", "{};", "{}|x", "x-{}", "a,{},b", "1@{}:9093",
    "{} (id: 1 rack: null)", "Node({}:9092)", "\\u0022{}\\u0022",
)  # fmt: skip


@pytest.fixture(autouse=True)
def repeatable_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make keys the same in every run: a random pseudonym can contain four digits of an address by chance."""
    monkeypatch.setattr(secrets, "token_bytes", random.Random(1).randbytes)


def log(number: int) -> bytes:
    return "".join(
        f"[2026-11-21 07:51:{second:02},897] INFO [Consumer clientId=c-{number}, groupId=g] (Re-)joining group "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)\n"
        for second in range(9)
    ).encode()


def files_of(copy: Path) -> list[Path]:
    return sorted(path for path in copy.rglob("*") if path.is_file())


def zipped(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number, name in enumerate(names):
            archive.writestr(name, log(number))
    return made.getvalue()


def test_names_that_differ_in_odd_characters_only_are_several_files(tmp_path: Path) -> None:
    names = ("app one.log", "app_one.log", "app:one.log", "APP_one.log", "app_one.log.1", "app:one.log.1")
    (tmp_path / "in").mkdir()
    for number, name in enumerate(names):
        (tmp_path / "in" / name).write_bytes(log(number))
    summary = redact(tmp_path / "in", tmp_path / "out", mapping=tmp_path / "names.json")
    copies = files_of(tmp_path / "out")
    assert summary.files == len(copies) == len(names)
    assert len({path.name.casefold() for path in copies}) == len(names)
    assert len({path.read_bytes() for path in copies}) == len(names)


def test_files_of_one_log_keep_their_name_in_common() -> None:
    paths = copy_paths(["a:b.log", "a_b.log", "a:b.log.1", "a_b.log.1", "a:b.log.2"], lambda part: part)
    stems = {path: new.partition(".")[0] for path, new in paths.items()}
    assert stems["a:b.log"] == stems["a:b.log.1"] == stems["a:b.log.2"] != stems["a_b.log"] == stems["a_b.log.1"]


def test_a_member_and_a_folder_of_one_name_are_both_copied(tmp_path: Path) -> None:
    inner = zipped("a", "a!/b", "a/b", "A", "d/" * 2_000 + "deep.log", "x" * 300 + ".log", "n\nl.log", "\u202egol.x")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.zip").write_bytes(inner)
    summary = redact(tmp_path / "in", tmp_path / "out")
    assert (summary.files, summary.left_out, summary.faults) == (8, [], [])
    assert len(files_of(tmp_path / "out")) == 8


@settings(max_examples=300)
@given(st.lists(st.text("aA b:_/.!\u00e9e\u0301\n\\~2", min_size=1, max_size=8), max_size=20))
def test_every_path_of_a_copy_is_its_own(names: list[str]) -> None:
    known = {"/".join(part for part in name.split("/") if part not in ("", ".", "..")) or "x" for name in names}
    made = copy_paths(known, lambda part: part)
    assert made.keys() == known
    folded = {unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold()) for path in made.values()}
    assert len(folded) == len(known)
    assert not any(f"{one}/" == other[: len(one) + 1] for one in folded for other in folded)
    assert all(part not in ("", ".", "..") and len(part.encode()) < 256 for path in made.values() for part in path.split("/"))


def test_many_names_that_become_one_take_no_square_of_time() -> None:
    begin = time.monotonic()
    made = copy_paths(
        (f"a{chr(0x2000 + n % 40)}{'_' * (n // 40 % 2)}" + " " * 1 + chr(0x3000) * 1 + f"{n}" for n in range(20_000)), lambda part: "same.log"
    )
    assert len(set(made.values())) == 20_000
    assert time.monotonic() - begin < 10


def test_a_file_that_goes_away_does_not_stop_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.log").write_bytes(log(number))
    found = copying.find_evidence

    def gone(paths, **how):
        evidence = found(paths, **how)
        (tmp_path / "in" / "1.log").unlink(missing_ok=True)
        return evidence

    monkeypatch.setattr(copying, "find_evidence", gone)
    summary = redact(tmp_path / "in", tmp_path / "out")
    assert summary.files == 2
    assert summary.faults == [("1.log", "No such file or directory")]


def test_a_full_disk_stops_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.log").write_bytes(log(1))
    for number, expected in ((28, OSError), (36, EvidenceError)):

        def full(*args, number=number):
            raise OSError(number, "x")

        monkeypatch.setattr(copying, "_compressed", full)
        with pytest.raises(expected):
            redact(tmp_path / "in", tmp_path / "out")
        assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def rewriter() -> Rewriter:
    made = Rewriter(Pseudonyms(vocabulary_of(load()), key=b"k" * 32), Names())
    made.learn()
    return made


def spellings(address: ipaddress.IPv6Address) -> list[str]:
    """Forms of an address that programs print."""
    short, full = str(address), address.exploded
    java = ":".join(f"{int(group, 16):x}" for group in full.split(":"))
    return [short, full, java, short.upper()]


def addresses(rng: random.Random) -> list[str]:
    """A random address in its forms: IPv6 with and without zeros, IPv4, and IPv4 in IPv6."""
    groups = [rng.choice((0, 0, rng.getrandbits(16), rng.getrandbits(16))) for _ in range(8)]
    groups[0] = rng.choice((0x2A02, 0xFD00 + rng.getrandbits(8), 0xFE80, 0x2000 + rng.getrandbits(12)))
    groups[rng.randrange(4, 8)] = rng.randrange(0x1000, 0xFFFF) | 0xA
    six = ipaddress.IPv6Address(sum(group << 16 * (7 - n) for n, group in enumerate(groups)))
    four = str(ipaddress.IPv4Address(rng.choice((10 << 24, 172 << 24 | 16 << 16, 192 << 24 | 168 << 16, 52 << 24)) + rng.getrandbits(16)))
    filled = ".".join(part.zfill(3) for part in four.split("."))
    return [*spellings(six), four, filled, f"::ffff:{four}", f"64:ff9b::{four}", f"::FFFF:{four}"]


def survives(address: str, text: str) -> bool:
    """Return True if a text contains an address in any form: complete, or as the groups after its first."""
    last = address.rpartition(":")[2] if "." in address else address
    return last in text or last.lower() in text or (":" in last and last.partition(":")[2] in text)


def test_no_form_of_an_address_survives_in_any_place(rewriter: Rewriter) -> None:
    rng = random.Random(39)
    left = []
    for _ in range(60):
        for address in addresses(rng):
            for place in PLACES:
                text = place.format(address)
                for made in (
                    rewriter.running(text),
                    rewriter.of_kind("address", text),
                    rewriter.of_kind("host", text),
                    rewriter.pseudonyms.name(text),
                ):
                    if survives(address, made) or rewriter.leaks(made):
                        left.append((text, made))
    assert left == []


def test_spellings_of_an_address_share_their_pseudonym(rewriter: Rewriter) -> None:
    made = {rewriter.running(text) for text in ("2a02::17", "2A02:0:0:0:0:0:0:17", "2a02:0000:0000:0000:0000:0000:0000:0017", "2a02::0:17")}
    assert len(made) == 1
    assert rewriter.running("[2a02::17]:9092") == f"[{made.pop()}]:9092"
    assert rewriter.running("::ffff:10.1.2.3") == f"::ffff:{rewriter.running('10.1.2.3')}"
    java = rewriter.running("2a02:0:0:0:0:0:0:17:9092")
    assert java == f"{rewriter.running('2a02::17')}:9092"


@pytest.mark.parametrize(
    "text", ["08:15:41", "08:15:41.123", "::1", "::", "[::]:9092", "http://[::1]:8083/", "2026-11-21T08:15:41Z", "0:0:0:0:0:0:0:0", "1:2:3"]
)
def test_what_is_no_address_of_somebody_stays(text: str, rewriter: Rewriter) -> None:
    assert rewriter.running(text) == text
    assert not rewriter.leaks(text)


def test_a_log_without_its_ipv6_addresses(tmp_path: Path) -> None:
    rng = random.Random(7)
    known = [address for _ in range(20) for address in addresses(rng)]
    lines = []
    for number, address in enumerate(known):
        head = f"[2026-11-21 08:{number // 60:02}:{number % 60:02},319] INFO [Consumer clientId=c, groupId=g]"
        end = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)"
        lines += [
            f"{head} Discovered group coordinator {address}:9092 (id: 2147483646 rack: null) {end}",
            f"{head} Connection to node 1 ({address}/{address}:9092) could not be established. (org.apache.kafka.clients.NetworkClient:1)",
            f"{head} Something about {rng.choice(PLACES).format(address)} happened {end}",
        ]
    config = "\n".join(f"\tbootstrap.servers = [{address}:9092, [{address}]:9092]" for address in known[:5])
    lines.append(f"[2026-11-21 08:59:00,000] INFO ConsumerConfig values: \n{config}\n (org.apache.kafka.clients.consumer.ConsumerConfig:372)")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "consumer.log").write_text("\n".join(lines) + "\n")
    redact(tmp_path / "in", tmp_path / "out", keep_unrecognised=True)
    whole = "".join(path.read_text() for path in files_of(tmp_path / "out"))
    assert whole.count("\n") > len(known) * 3
    assert [address for address in known if survives(address, whole)] == []


@pytest.mark.parametrize("text", [":1", "1:", ":", "1.1", "f:f:f:f:f:f:f:", "a::", "::ffff:1.2.3.4:"])
def test_much_that_looks_like_addresses_takes_linear_time(text: str, rewriter: Rewriter) -> None:
    times = []
    for count in (50_000, 200_000):
        whole = text * (count // len(text))
        begin = time.process_time()
        rewriter.running(whole)
        rewriter.leaks(whole)
        rewriter.pseudonyms.name(whole)
        times.append(time.process_time() - begin)
    assert times[1] < 8 * times[0] + 1
