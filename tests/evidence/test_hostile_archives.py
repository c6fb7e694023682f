# SPDX-License-Identifier: Apache-2.0
"""Archives that lie about lengths, and files that are no evidence: each ends within seconds, what can be read is read, and what cannot is said."""

from __future__ import annotations

import copy
import gzip
import io
import os
import random
import re
import signal
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from reading import read

from forensics.evidence.containers import contents
from forensics.evidence.streams import Budget
from forensics.evidence.tar_members import TarMembers
from forensics.inventory.evidence import Evidence
from forensics.inventory.inventory import find_evidence

TEXT = "".join(
    f"[2026-11-21 07:51:{second:02},897] INFO [Consumer clientId=c, groupId=g] (Re-)joining group "
    "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:611)\n"
    for second in range(20)
).encode()
SECONDS = 5


@contextmanager
def limited(seconds: int = SECONDS) -> Iterator[None]:
    """Fail what takes more processor time, or waits for twenty times as long."""

    def ended(*_: object) -> None:
        raise AssertionError(f"it took more than {seconds} s")

    before = {number: signal.signal(number, ended) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(20 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def told(path: Path) -> dict[str, Evidence]:
    with limited():
        return {e.path: e for e in find_evidence([path])}


def tarred(*members: tuple[str, bytes, dict[str, str]], form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, data, headers in members:
            entry = tarfile.TarInfo(name)
            entry.size, entry.pax_headers = len(data), headers
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def sparse(size: int, *parts: tuple[int, int]) -> tuple[bytes, dict[str, str]]:
    """The data of a sparse file as GNU 1.0 stores it, and its headers."""
    numbers = [len(parts), *(number for part in parts for number in part)]
    map_ = "".join(f"{number}\n" for number in numbers).encode()
    headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "s.log", "GNU.sparse.realsize": str(size)}
    return map_.ljust(-(-len(map_) // 512) * 512, b"\0") + TEXT, headers


def base_tar(form: int) -> bytes:
    data, headers = sparse(len(TEXT) + 512, (0, 512), (1024, len(TEXT) - 512))
    flat = {"GNU.sparse.size": "9000", "GNU.sparse.numblocks": "1", "GNU.sparse.map": f"100,{len(TEXT)}"}
    more = [("GNUSparseFile.0/s.log", data, headers), ("s0.log", TEXT, flat)] if form == tarfile.PAX_FORMAT else []
    return tarred(("a.log", TEXT, {}), ("d/" + "n" * 150 + ".log", TEXT * 2, {}), *more, ("b.log", TEXT, {}), form=form)


def base_zip(method: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr("a.log", TEXT)
        archive.writestr("d/b.log", TEXT * 3)
        archive.writestr("in.tar", base_tar(tarfile.GNU_FORMAT))
        with archive.open("big.log", "w", force_zip64=True) as file:
            file.write(TEXT)
    return made.getvalue()


SIZES = (
    b"77777777777\0", b"00000000000\0", b"-0000000001\0", b"\x80" + b"\x7f" * 11, b"\xff" * 12, b"\xff" + b"\0" * 11, b"99999999999 ", b" " * 12, b"z" * 12,
    b"\x80" + b"\0" * 10 + b"\x10",
)  # fmt: skip
NUMBERS = (b"9" * 20, b"0", b"-1", b"9" * 5, b"1125899906842624", b"9" * 600)


def sealed(data: bytearray, at: int) -> None:
    """Give a header of a tar archive its right checksum."""
    header = bytearray(data[at : at + 512])
    header[148:156] = b" " * 8
    data[at + 148 : at + 156] = b"%06o\0 " % sum(header)


def changed_tar(whole: bytes, rng: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(rng.randrange(1, 4)):
        headers = [at for at in range(0, len(data) - 511, 512) if data[at + 257 : at + 262] == b"ustar"]
        if not headers:
            break
        at = rng.choice(headers)
        match rng.randrange(8):
            case 0:
                data[at + 124 : at + 136] = rng.choice(SIZES)
                sealed(data, at)
            case 1:
                data[at + 156] = rng.choice(b"0123456789SLKxXgDVM\0\xff")
                sealed(data, at)
            case 2:
                data[at + rng.randrange(512)] = rng.randrange(256)
                sealed(data, at)
            case 3:
                data[rng.randrange(len(data))] = rng.randrange(256)
            case 4:
                del data[rng.randrange(512, len(data)) :]
            case 5 if numbers := list(re.finditer(rb"\d+", bytes(data[at + 512 : at + 1024]))):
                number, new = at + 512 + rng.choice(numbers).start(), rng.choice(NUMBERS)
                data[number : number + len(new)] = new
            case 6:
                data[at:at] = data[at : at + 512 * rng.randrange(1, 4)] * rng.choice((1, 2, 50))
            case _:
                other = rng.choice(headers)
                data[other : other + 1024] = data[at : at + 1024]
    return gzip.compress(data, 1) if rng.random() < 0.15 else bytes(data)


def changed_zip(whole: bytes, rng: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(rng.randrange(1, 5)):
        marks = [m.start() for m in re.finditer(rb"PK(?:\x01\x02|\x03\x04|\x05\x06|\x06\x06|\x06\x07)", bytes(data))]
        if not marks:
            break
        at = rng.choice(marks)
        match rng.randrange(6):
            case 0 | 1 | 2:
                width = rng.choice((2, 4, 8))
                field = at + 4 + rng.randrange(44)
                value = rng.choice((0, 1, 2 ** (8 * width) - 1, 2 ** (8 * width - 1), rng.randrange(2 ** (8 * width)), rng.randrange(300)))
                data[field : field + width] = value.to_bytes(width, "little")
            case 3:
                data[rng.randrange(len(data))] = rng.randrange(256)
            case 4:
                del data[rng.randrange(8, len(data)) :]
            case _:
                other = rng.choice(marks)
                data[other:other] = data[at : at + rng.randrange(30, 200)] * rng.choice((1, 3, 100))
    return b"PK\3\4" + bytes(data[4:])


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("change", "bases"),
    [
        (changed_tar, [base_tar(tarfile.PAX_FORMAT), base_tar(tarfile.GNU_FORMAT)]),
        (changed_zip, [base_zip(zipfile.ZIP_STORED), base_zip(zipfile.ZIP_DEFLATED)]),
    ],
    ids=["tar", "zip"],
)
def test_a_changed_archive_ends_and_raises_nothing(
    change: Callable[[bytes, random.Random], bytes], bases: list[bytes], seed: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("inputs", 1_000)
    rng, path, silent = random.Random(seed), tmp_path / "x", 0
    for _ in range(1_000):
        path.write_bytes(change(rng.choice(bases), rng))
        with limited():
            seen = [(len(content.read(1 << 24)), content.error) for _, content in contents(path)]
        silent += not seen
        assert sum(size for size, _ in seen) <= 64 << 20
    assert silent < 10


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_a_sound_tar_gives_what_pythons_reader_gives(form: int, tmp_path: Path) -> None:
    whole = base_tar(form) if form != tarfile.USTAR_FORMAT else tarred(("p" * 90 + "/" + "q" * 90, TEXT, {}), ("empty", b"", {}), form=form)
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        expected = [(m.name, archive.extractfile(m).read()) for m in archive if m.isreg()]
    members = TarMembers(io.BytesIO(whole), Budget(len(whole)))
    found = [(member.name, b"".join(iter(lambda stream=member.stream: stream.read(999), b""))) for member in members]
    assert found == expected
    assert members.problems == ""


def test_a_size_of_ten_to_the_twenty_is_no_size(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(tarred(("p.log", TEXT, {"size": "9" * 20})))
    found = told(tmp_path)
    assert found["x.tar/p.log"].fingerprint.lines == 20
    assert (found["x.tar"].status, found["x.tar"].note) == ("unreadable", "a size in an extended header is not a number")


@pytest.mark.parametrize("size", ["123456789012", "4096000"])
def test_a_size_beyond_the_end_is_said(size: str, tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(tarred(("p.log", TEXT, {"size": size})))
    found = told(tmp_path)
    assert found["x.tar/p.log"].status == "read"
    assert "the archive ends in the middle of it" in found["x.tar/p.log"].note


@pytest.mark.parametrize("part", [(562949953421312, 10), (0, 10), (-5, 10), (0, 1 << 62)])
def test_a_sparse_file_whose_map_lies_is_read_without_its_holes(part: tuple[int, int], tmp_path: Path) -> None:
    data, headers = sparse(1 << 50, part)
    (tmp_path / "x.tar").write_bytes(tarred(("GNUSparseFile.0/s.log", data, headers)))
    found = told(tmp_path)
    assert found["x.tar/s.log"].fingerprint.lines == 20
    assert "map of a sparse file is wrong" in found["x.tar"].note


def test_a_hole_of_a_petabyte_is_cut(tmp_path: Path) -> None:
    data, headers = sparse(1 << 50, (0, 300), (1 << 49, len(TEXT) - 300))
    (tmp_path / "x.tar").write_bytes(tarred(("GNUSparseFile.0/s.log", data, headers)))
    found = told(tmp_path)["x.tar/s.log"]
    assert (found.status, found.fingerprint.lines) == ("read", 2)
    assert "it expands to more than" in found.note


def test_long_names_take_linear_time(tmp_path: Path) -> None:
    times = []
    for count in (50, 200):
        (tmp_path / "x.tar").write_bytes(tarred(*(("q" * 60_000 + str(n), TEXT, {}) for n in range(count)), form=tarfile.GNU_FORMAT))
        begin = time.process_time()
        with limited(20):
            found = find_evidence([tmp_path / "x.tar"])
        times.append(time.process_time() - begin)
        assert sum(e.status == "read" for e in found) + sum(e.note is not None and "same content" in e.note for e in found) == count
        assert max(len(e.path) for e in found) < 5_000
    assert times[1] < 8 * times[0] + 1


def test_members_of_a_zip_that_lie_on_others_are_refused_together(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("first.log", TEXT * 500)
        for number in range(30_000):
            twin = copy.copy(archive.infolist()[0])
            twin.filename = f"{number}.log"
            archive.filelist.append(twin)
    found = told(tmp_path)
    assert found["x.zip/first.log"].fingerprint.lines == 10_000
    assert len(found) == 2
    assert found["x.zip"].status == "unreadable"
    assert found["x.zip"].note.startswith("30,000 of its members overlap others")


def test_wanting_many_members_takes_linear_time(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.log", TEXT[:200])
    with limited(20):
        seen = [name for name, content in contents(tmp_path / "x.zip", frozenset(f"{n}.log" for n in range(20_000))) if content.read()]
    assert len(seen) == 20_000


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"7z\xbc\xaf\x27\x1c\0\4", "7-Zip"), (b"Rar!\x1a\x07\x01\0", "RAR"), (b"Rar!\x1a\x07\0", "RAR"), (b"\x1f\x9d\x90", "compress"), (b"LZIP\1", "lzip"),
        (b"\x89LZO\0\r\n\x1a\n", "lzop"), (b"MSCF\0\0\0\0", "cabinet"), (b"\xff\6\0\0sNaPpY", "Snappy"),
    ],
)  # fmt: skip
def test_what_is_packed_in_a_way_that_is_not_read_is_said(head: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(TEXT)
    (tmp_path / "logs.bin").write_bytes(head + os.urandom(3_000))
    found = told(tmp_path)
    assert (found["a.log"].status, found["logs.bin"].status) == ("read", "unreadable")
    assert what in found["logs.bin"].note
    assert "unpack it" in found["logs.bin"].note


def test_lz4_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log.lz4"
    with pa.OSFile(str(path), "wb") as raw, pa.CompressedOutputStream(raw, "lz4") as stream:
        stream.write(TEXT * 5_000)
    assert told(path)["a.log.lz4"].fingerprint.lines == 100_000
    path.write_bytes(path.read_bytes()[:-4_000])
    cut = told(path)["a.log.lz4"]
    assert (cut.status, "read up to a fault" in (cut.note or "")) == ("read", True)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_utf_16_is_read_with_and_without_a_mark(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(TEXT.decode().replace("groupId=g", "groupId=grün").encode(encoding))
    reading = read([tmp_path])
    assert [e["group_id"] for e in reading.events] == ["grün"] * 20
    assert reading.evidence[0].note is None


def test_places_that_are_no_files_stop_nothing(tmp_path: Path) -> None:
    root = tmp_path / "in"
    root.mkdir()
    (root / "a.log").write_bytes(TEXT)
    (root / "loop").symlink_to(".")
    (root / "self").symlink_to("self")
    (root / "zero.log").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.log")
    with (root / "hollow.log").open("wb") as file:
        file.write(TEXT)
        file.truncate(1 << 40)
    (root / "odd\n\x1b[31m\u202e.log").write_bytes(TEXT * 2)
    found = told(root)
    assert {e.below: e.status for e in found.values() if e.status == "read"}.keys() == {"odd\n\x1b[31m\u202e.log"}
    assert found["a.log"].note.startswith("the beginning of")
    assert found["hollow.log"].status == "unreadable"
    assert "1,099,511,627,776 bytes are written" in found["hollow.log"].note
    assert {found[name].status for name in ("self", "zero.log", "pipe.log")} == {"skipped"}
