# SPDX-License-Identifier: Apache-2.0
"""Evidence that is broken, hostile or odd: what can be read is read, and what is lost is said, with the file's name."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import tarfile
import time
import warnings
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from reading import read, read_evidence

from forensics.catalogue.recogniser import Recogniser
from forensics.errors import UsageError
from forensics.evidence import streams
from forensics.evidence.containers import open_content
from forensics.extract import single_readers
from forensics.extract.column_reader import ColumnReader
from forensics.inventory.inventory import find_evidence
from forensics.inventory.same_content import changed_since
from forensics.records import layout_inference
from forensics.records.timestamps import TimeFormat, Zone

LOGGER = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"
YEAR_2026 = 1_767_225_600


def line(second: int, text: str = "(Re-)joining group") -> str:
    return f"[2026-01-01 00:{second // 60:02}:{second % 60:02},000] INFO [Worker clientId=connect-1, groupId=g] {text} ({LOGGER}:605)\n"


def told(paths, **more):
    """Events by file and line, and faults by file."""
    reading = read(paths, broken=True, **more)
    return {(e["path"], e["line"]): e.get("ts") for e in reading.events}, dict(reading.faults), reading


def of_json(instant: object) -> str:
    return json.dumps({"instant": instant, "level": "INFO", "loggerName": LOGGER, "message": "(Re-)joining group"}) + "\n"


@pytest.mark.parametrize("seconds", [99_999_999_999_999_999, 10**30, -(10**17), 253_402_300_800])
def test_a_record_with_an_absurd_time_costs_only_its_time(seconds, tmp_path):
    (tmp_path / "other.log").write_text(line(9))
    (tmp_path / "some.log").write_text("".join(of_json({"epochSecond": s, "nanoOfSecond": 1}) for s in (YEAR_2026, seconds, YEAR_2026 + 1)))
    found, faults, _ = told([tmp_path])
    assert [found["some.log", n] and found["some.log", n].year for n in (1, 2, 3)] == [2026, None, 2026]
    assert ("other.log", 1) in found
    assert "1 record has an impossible time, the first at line 2" in faults["some.log"]
    assert list(faults) == ["some.log"]


@pytest.mark.parametrize("time", ["0001-01-01 00:00:00,000", "9999-12-31 23:59:59,999", "2026-02-31 00:00:00,000", "1969-12-31 23:59:59,000"])
def test_a_time_that_cannot_be_is_no_time(time, tmp_path):
    (tmp_path / "some.log").write_text(line(1) + line(2).replace("2026-01-01 00:00:02,000", time) + line(3))
    found, faults, _ = told([tmp_path])
    assert [found["some.log", n] is None for n in (1, 2, 3)] == [False, True, False]
    assert "line 2" in faults["some.log"]


def test_an_offset_that_no_zone_has_is_no_time():
    assert TimeFormat("ANY").read("2026-01-01T00:00:00.000+99:99") is None
    assert TimeFormat("ANY").read("2026-01-01T00:00:00.000+12:60") is None
    assert TimeFormat("ANY").read("2026-01-01T00:00:00.000+14:00") is not None
    with pytest.raises(UsageError):
        Zone("+99:99")


def test_digits_that_are_no_number_stop_nothing(tmp_path):
    odd = {"@timestamp": "²", "level": "INFO", "logger": "x:²", "line": "²", "message": "(Re-)joining group"}
    (tmp_path / "some.log").write_text(of_json({"epochSecond": YEAR_2026}) * 3 + json.dumps(odd) + "\n" + of_json({"epochSecond": True}))
    found, _, _ = told([tmp_path])
    assert {("some.log", n) for n in (1, 2, 3, 5)} <= found.keys()


@pytest.mark.parametrize("plain", [True, False], ids=["by columns", "line by line"])
def test_whatever_one_record_raises_is_said_and_the_others_are_read(plain, tmp_path, monkeypatch):
    recognise = Recogniser.recognise

    def fail(self, logger, message, *more):
        if "poison" in message:
            raise ZeroDivisionError("a bug")
        return recognise(self, logger, message, *more)

    monkeypatch.setattr(Recogniser, "recognise", fail)
    quote = "" if plain else "> "
    (tmp_path / "some.log").write_text("".join(quote + line(n, "poison" if n == 2 else "(Re-)joining group") for n in (1, 2, 3)))
    (tmp_path / "other.log").write_text(line(9))
    found, faults, reading = told([tmp_path])
    assert sorted(found) == [("other.log", 1), ("some.log", 1), ("some.log", 3)]
    assert faults == {
        "some.log": "1 record could not be processed, the first at line 2: a fault of this program, not of the evidence (ZeroDivisionError: a bug)"
    }
    assert [u["line"] for u in reading.unrecognised] == [2]


def test_a_line_that_ends_with_an_equals_sign_is_read(tmp_path):
    (tmp_path / "some.log").write_text("Starting Kafka Connect with configuration:\nconsumer.client.rack=\n" + line(1))
    found, faults, _ = told([tmp_path])
    assert sorted(found) == [("some.log", 3)]
    assert not faults


def test_a_line_from_which_no_layout_can_be_learned_because_of_a_fault_is_said_and_the_file_is_read(tmp_path, monkeypatch):
    known = layout_inference.guess

    def fail(text, **how):
        if "poison" in text:
            raise ZeroDivisionError("a bug")
        return known(text, **how)

    monkeypatch.setattr(layout_inference, "guess", fail)
    (tmp_path / "some.log").write_text("a banner\nat 12:00 all of it poison\n" + line(1))
    found, _, reading = told([tmp_path])
    assert sorted(found) == [("some.log", 3)]
    notes = [e.note for e in reading.evidence]
    assert notes == ["no layout could be learned from line 2: a fault of this program, not of the evidence (ZeroDivisionError: a bug)"]


def test_a_fault_in_the_fast_reader_costs_no_line(tmp_path, monkeypatch):
    (tmp_path / "some.log").write_text("".join(map(line, range(5))))
    monkeypatch.setattr(ColumnReader, "_records", lambda *inputs: 1 / 0)
    found, faults, _ = told([tmp_path])
    assert sorted(found) == [("some.log", n) for n in range(1, 6)]
    assert "a fault of this program, not of the evidence (ZeroDivisionError: division by zero)" in faults["some.log"]


def test_a_record_that_cannot_be_timed_because_of_a_fault_costs_that_record(tmp_path, monkeypatch):
    known = single_readers.utc

    def fail(moment, zone):
        if moment is not None and known(moment, zone) % 60_000_000 == 2_000_000:
            raise ZeroDivisionError("a bug")
        return known(moment, zone)

    monkeypatch.setattr(single_readers, "utc", fail)
    (tmp_path / "some.log").write_text("".join("> " + line(n) for n in (1, 2, 3)))
    found, faults, _ = told([tmp_path])
    assert sorted(found) == [("some.log", 1), ("some.log", 3)]
    assert faults == {
        "some.log": "1 record could not be processed, the first at line 2: a fault of this program, not of the evidence (ZeroDivisionError: a bug)"
    }


def test_a_name_that_is_no_utf_8_is_kept_and_opened_again(tmp_path):
    (tmp_path / "plain\\xff.log").write_text(line(1))
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.log")).write_text(line(2))
    found, faults, reading = told([tmp_path])
    assert sorted(found) == [(r"caf\xe9.log", 1), (r"plain\xff.log", 1)]
    assert not faults
    for e in reading.evidence:
        json.dumps(e.place.location).encode()
        e.place.location.encode("utf-8")
    assert found[r"caf\xe9.log", 1] == datetime(2026, 1, 1, 0, 0, 2, tzinfo=UTC)


LINES = [line(n) for n in range(400)]
TEXT = "".join(LINES).encode()


def random_lines(count: int) -> bytes:
    """Lines that hardly shrink."""
    return b"".join(line(n, f"(Re-)joining group {os.urandom(40).hex()}").encode() for n in range(count))


def of(found, name):
    return sorted(number for path, number in found if path == name)


def packed(kind: str, data: bytes) -> bytes:
    import pyarrow as pa

    match kind:
        case "gz":
            return gzip.compress(data)
        case "bz2":
            return bz2.compress(data)
        case "xz":
            return lzma.compress(data)
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize("where", ["middle", "start", "end", "in a line"])
@pytest.mark.parametrize("size", [16, 40_000, 300_000, 3_000_000])
def test_zero_bytes_cost_no_line_that_was_written(where, size, tmp_path):
    hole = bytes(size)
    at = {"middle": 200, "start": 0, "end": 400, "in a line": 200}[where]
    begun = LINES[at][:60].encode() if where == "in a line" else b""
    (tmp_path / "some.log").write_bytes("".join(LINES[:at]).encode() + begun + hole + "".join(LINES[at:]).encode())
    found, faults, reading = told([tmp_path])
    assert len(of(found, "some.log")) == 400
    assert [e["ts"] for e in reading.events] == sorted(e["ts"] for e in reading.events)
    assert f"{size:,} zero bytes, the first in line {at + (where != 'end' or 1):,} " in faults["some.log"]
    content = (tmp_path / "some.log").read_bytes()
    assert all(content[e["byte_offset"] : e["byte_offset"] + 10] == b"[2026-01-0" for e in reading.events)
    assert reading.total("lines") == content.count(b"\n")


def test_lost_ranges_have_their_bytes_and_lines_and_a_cut_record_is_only_counted(tmp_path):
    cut = len("".join(LINES[:100]) + LINES[100].rstrip())  # perhaps its end is lost too
    garbage = b"\xff\x01\x80 no text\n" * 20
    at = len("".join(LINES[:200]))
    data = bytearray(TEXT)
    data[cut : cut + 5_000] = bytes(5_000)
    data[at : at + len(garbage)] = garbage
    (tmp_path / "some.log").write_bytes(data)
    found, _, reading = told([tmp_path])
    (row,) = reading.ranges
    zeros, no_text = row["lost"]
    assert (zeros["from_byte"], zeros["to_byte"], zeros["from_line"], zeros["why"]) == (len("".join(LINES[:100])), cut + 5_000, 101, "zero_bytes")
    lines = bytes(data[: no_text["from_byte"]]).count(b"\n"), bytes(data[: no_text["to_byte"]]).count(b"\n")
    assert (no_text["from_byte"], no_text["from_line"], no_text["to_line"], no_text["why"]) == (at, lines[0] + 1, lines[1], "no_text")
    assert ("some.log", 101) not in found
    assert [c["line"] for c in reading.counted] == [101]


@pytest.mark.parametrize(
    ("end", "lost"),
    [
        (LINES[3], None),
        (LINES[3].rstrip(), None),
        (LINES[3].split(" (")[0], (4, "cut_end")),
        ("[2026-01-01 00:00:03,000] INFO ProducerConfig values: \n\tacks = -1\n\tbatch.size = 16", (6, "cut_end")),
        ("[2026-01-01 00:00:03,000] INFO ProducerConfig values: \n\tacks = -1\n", (5, "cut_end")),
        ("[2026-01-01 00:00:03,000] INFO ProducerConfig values: \n\tacks = -1\n\tbatch.si", (6, "cut_end")),
        ("[2026-01-01 00:00:03,000] INFO ProducerConfig values: \n\tacks = -1\n\t", (6, "cut_end")),
        ("[2026-01-01 00:00:03,000] INFO ProducerConfig values: \n", (4, "cut_end")),
        ("[2026-01-01 00:00:03,000] INFO ProducerConfig values: \n\tacks = -1\n (org.apache.kafka.clients.producer.ProducerConfig:370)\n", None),
    ],
)
@pytest.mark.parametrize("alone", [False, True], ids=["after others", "alone"])
def test_a_log_that_ends_inside_a_record_is_cut(end, lost, alone, tmp_path):
    if alone and "ProducerConfig" not in end:
        pytest.skip("one line alone does not show how records end")
    (tmp_path / "some.log").write_text(("" if alone else "".join(LINES[:3])) + end)
    reading = read([tmp_path], broken=True)
    found = [(x["from_line"] + 3 * alone, x["why"]) for r in reading.ranges for x in r["lost"]]
    assert found == ([lost] if lost else [])
    assert [("ends inside a record" in (e.note or "")) for e in reading.evidence] == [lost is not None]


HEAD = "2026-01-01 00:00:0{},000 INFO org.apache.kafka.clients.consumer.ConsumerConfig - "
SETTINGS = HEAD.format(5) + "ConsumerConfig values: \n\tallow.auto.create.topics = true\n\tauto.commit"
JOINED = "".join(HEAD.format(n) + f"[Consumer clientId=c, groupId=g] Successfully joined group with generation {n}\n" for n in range(4))


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        (JOINED + SETTINGS, True),
        (JOINED + SETTINGS + " = 1\n\n" + JOINED + SETTINGS, True),
        (JOINED + SETTINGS + " = 1\n\n", False),
        (JOINED + SETTINGS + " = 1\n" + JOINED + SETTINGS + " = 1\n", False),  # a tool removed blank lines
        (JOINED + 2 * (HEAD.format(5) + "ConsumerConfig values: \n"), False),  # a selection of lines
    ],
    ids=["cut", "cut after a whole one", "whole", "without blank lines", "first lines only"],
)
@pytest.mark.parametrize("before", ["", "connect-1  | "], ids=["plain", "compose"])
def test_settings_are_whole_with_the_blank_line_after_them(text, is_cut, before, tmp_path):
    (tmp_path / "connect.log").write_text("".join(before + line for line in text.splitlines(keepends=True)))
    (e,) = find_evidence([tmp_path])
    assert ("ends inside a record" in (e.note or "")) is is_cut


def test_bytes_that_are_no_text_are_told(tmp_path):
    """They follow a record like a stack trace, so no other count shows them."""
    data, at = "".join(LINES).encode(), len("".join(LINES[:100]))
    garbage = b"\xff\x01\x80 no text\n" * 20 + b"\xff\x02"
    (tmp_path / "some.log").write_bytes(data[:at] + garbage + data[at + len(garbage) :])
    (tmp_path / "latin.log").write_bytes(data.replace(LINES[7].encode(), LINES[7].rstrip().encode() + " größer\x1b[0m\n".encode("latin-1")))
    notes = {e.path: e.note for e in find_evidence([tmp_path])}
    assert notes == {
        "latin.log": None,
        "some.log": f"21 lines of bytes that are no text, the first is line 101 (byte {at:,}): what was there is lost",
    }


def test_nobody_wrote_across_a_hole(tmp_path):
    """The rest of a record behind a hole is not the end of the record before it."""
    (tmp_path / "some.log").write_bytes(LINES[0].encode() + bytes(100) + b"\tat java.lang.Thread.run\n" + LINES[1].encode())
    found, _, reading = told([tmp_path])
    assert of(found, "some.log") == [1, 3]
    assert reading.total("unfit") == 1


def test_what_is_nothing_but_zero_bytes_is_told(tmp_path):
    (tmp_path / "server.log").write_bytes(bytes(50_000))
    (tmp_path / "x.index").write_bytes(bytes(50_000))
    assert {e.path: e.status for e in find_evidence([tmp_path])} == {"server.log": "unreadable", "x.index": "skipped"}


@pytest.mark.parametrize("data", [os.urandom(5_000), os.urandom(5_000) + bytes(5_000), bytes(300_000) + os.urandom(5_000), gzip.compress(TEXT)[10:]])
def test_what_is_no_text_is_no_log(data, tmp_path):
    (tmp_path / "some.log").write_bytes(data)
    (mine,) = find_evidence([tmp_path])
    assert (mine.status, mine.note) == ("skipped", "binary")


def test_zstd_frames_behind_frames_that_are_skipped_are_read(tmp_path):
    """As pzstd writes frames: each has an extra frame that contains the length of the next."""
    data = packed("zst", TEXT)
    (tmp_path / "some.log.zst").write_bytes((b"\x50\x2a\x4d\x18\x04\0\0\0" + len(data).to_bytes(4, "little") + data) * 2)
    found, faults, reading = told([tmp_path])
    assert len(of(found, "some.log.zst")) == 800
    assert not faults


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_packed_bytes_are_read_up_to_a_cut(kind, tmp_path):
    data = packed(kind, random_lines(3_000) * 3)
    (tmp_path / f"some.log.{kind}").write_bytes(data[: len(data) // 2])
    (tmp_path / "other.log").write_bytes(TEXT)
    found, faults, reading = told([tmp_path])
    (mine,) = [e for e in reading.evidence if e.path.startswith("some")]
    assert len(of(found, f"some.log.{kind}")) > {"gz": 2_900, "zst": 2_900, "xz": 1_400, "bz2": 1_000}[kind]
    assert mine.status == "read"
    assert "read up to a fault" in mine.note
    assert f"{mine.fingerprint.lines:,} lines ({mine.fingerprint.size:,} bytes) before it" in mine.note
    assert len(of(found, "other.log")) == 400


def test_a_flipped_bit_of_gzip_costs_nothing_in_front_of_it(tmp_path):
    text = random_lines(3_000)
    data = bytearray(gzip.compress(text))
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "some.log.gz").write_bytes(data)
    found, _, reading = told([tmp_path])
    assert len(of(found, "some.log.gz")) >= 1_490
    assert "are lost" in reading.evidence[0].note or "not the original ones" in reading.evidence[0].note


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in members.items():
            bundle.writestr(name, data)
    return out.getvalue()


def test_a_broken_member_of_a_zip_is_read_up_to_its_fault(tmp_path):
    text = random_lines(2_000)
    data = bytearray(zipped({"a.log": TEXT, "b.log": text, "c.log": b"".join(line(n).encode() for n in range(500, 600))}))
    at = data.index(b"b.log") + 40_000
    data[at] ^= 0xFF
    (tmp_path / "bundle.zip").write_bytes(data)
    found, faults, reading = told([tmp_path])
    assert len(of(found, "bundle.zip/a.log")) == 400
    assert len(of(found, "bundle.zip/b.log")) > 300
    assert len(of(found, "bundle.zip/c.log")) == 100
    assert [e.path for e in reading.evidence if e.note] == ["bundle.zip/b.log"]


class Unseekable(io.BytesIO):
    """As through a pipe: sizes can only be written after the data."""

    def seekable(self):
        return False

    def seek(self, *where):
        raise io.UnsupportedOperation

    def tell(self):
        raise io.UnsupportedOperation


@pytest.mark.parametrize("seekable", [True, False], ids=["sizes in front", "sizes behind"])
def test_a_zip_that_was_cut_gives_the_members_before_the_cut(seekable, tmp_path):
    out = io.BytesIO() if seekable else Unseekable()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in (("a.log", TEXT), ("b.log", random_lines(2_000)), ("c.log", random_lines(10))):
            bundle.writestr(name, text)
    data = out.getvalue()
    (tmp_path / "bundle.zip").write_bytes(data[: data.index(b"b.log") + 60_000])
    found, _, reading = told([tmp_path])
    assert len(of(found, "bundle.zip/a.log")) == 400
    assert len(of(found, "bundle.zip/b.log")) > 500
    notes = {e.path: (e.status, e.note) for e in reading.evidence}
    assert notes["bundle.zip"][0] == "unreadable"
    assert notes["bundle.zip/b.log"][0] == "read" and "fault" in notes["bundle.zip/b.log"][1]


def tarred(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as bundle:
        for name, data in members:
            about = tarfile.TarInfo(name)
            about.size = len(data)
            bundle.addfile(about, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize("pack", [lambda x: x, gzip.compress], ids=["tar", "tar.gz"])
def test_a_tar_that_was_cut_is_read_to_its_end(pack, tmp_path):
    last = random_lines(2_000)
    data = pack(tarred(("a.log", TEXT), ("b.log", last)))
    (tmp_path / "bundle.tar").write_bytes(data[: len(data) * 2 // 3])
    found, _, reading = told([tmp_path])
    assert len(of(found, "bundle.tar/a.log")) == 400
    assert 1_000 < len(of(found, "bundle.tar/b.log")) < 2_000
    notes = {e.path: (e.status, e.note) for e in reading.evidence}
    assert notes["bundle.tar"][0] == "unreadable"
    (mine,) = [e for e in reading.evidence if e.path == "bundle.tar/b.log"]
    assert f"{len(last) - mine.fingerprint.size:,} bytes (about" in mine.note


def test_a_damaged_header_of_a_tar_hides_no_later_member(tmp_path):
    data = bytearray(tarred(("a.log", TEXT), ("b.log", b"".join(line(n).encode() for n in range(500, 520))), ("c.log", random_lines(30))))
    at = data.index(b"b.log")
    data[at : at + 200] = os.urandom(200)
    (tmp_path / "bundle.tar").write_bytes(data)
    found, _, reading = told([tmp_path])
    assert len(of(found, "bundle.tar/a.log")) == 400
    assert len(of(found, "bundle.tar/c.log")) == 30
    (whole,) = [e for e in reading.evidence if e.path == "bundle.tar"]
    assert whole.status == "unreadable" and "were skipped" in whole.note


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_name_that_stands_twice_in_an_archive_is_two_files(kind, tmp_path):
    early, late = "".join(LINES[:200]).encode(), "".join(LINES[300:]).encode()
    if kind == "tar":
        data = tarred(("w1/connect.log", early), ("w1/connect.log", late))
    else:
        out = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
            warnings.simplefilter("ignore")
            bundle.writestr("w1/connect.log", early)
            bundle.writestr("w1/connect.log", late)
        data = out.getvalue()
    (tmp_path / f"bundle.{kind}").write_bytes(data)
    found, faults, reading = told([tmp_path])
    assert len(found) == 300
    assert not faults
    for e in reading.evidence:
        assert e.status == "read"
        with open_content(tmp_path / f"bundle.{kind}", e.place.member) as content:
            assert hashlib.sha256(content.read(1 << 20)).hexdigest() == e.fingerprint.sha256
    assert {e.origin.process_id for e in reading.evidence} == {f"bundle.{kind}/w1/connect.log"}


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_a_little_that_would_be_very_much_is_cut(kind, tmp_path):
    (tmp_path / f"some.log.{kind}").write_bytes(packed(kind, bytes(80 << 20) if kind == "bz2" else TEXT + b"x" * (80 << 20)))
    begun = time.process_time()
    _, _, reading = told([tmp_path])
    assert time.process_time() - begun < 20
    (mine,) = reading.evidence
    packed_size = (tmp_path / f"some.log.{kind}").stat().st_size
    assert (mine.fingerprint.size or 0) <= max(streams.HARMLESS_BYTES, streams.MAX_RATIO * packed_size)
    assert "unpack it" in mine.note or mine.status == "unreadable"


@pytest.mark.parametrize("kind", ["gz", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("bz2", "xz", "zst"))])
@pytest.mark.parametrize("before", [b"", TEXT, b"w1 | " + TEXT.replace(b"\n", b"\nw1 | ")], ids=["", "log", "wrapped log"])
def test_short_lines_without_end_are_cut_in_proportion_to_what_they_shrink_to(before, kind, tmp_path):
    content = before + b"a\n" * 1_000_000
    name = f"some.log.{kind}"
    (tmp_path / name).write_bytes(packed(kind, content))
    size = (tmp_path / name).stat().st_size
    begun = time.process_time()
    found, _, reading = told([tmp_path])
    assert time.process_time() - begun < 20
    (mine,) = reading.evidence
    lines = mine.fingerprint.lines
    assert lines <= max(streams.HARMLESS_LINES, streams.LINES_A_BYTE * size)
    assert lines == reading.total("lines")
    assert len(found) == before.count(b"(Re-)joining")
    assert "more lines than logs of its size have and was truncated there" in mine.note
    said = re.search(r"before it, (more than )?([0-9,]+) bytes \(([0-9,]+) lines\) are lost", mine.note)
    left = content.count(b"\n") - lines
    assert (left >= int(said[3].replace(",", "")) > 0) if said[1] else int(said[3].replace(",", "")) == left
    assert [r["lines"] for r in read_evidence(find_evidence([tmp_path]), broken=True).ranges] == [lines]


def test_what_one_member_of_an_archive_took_is_said_of_the_next(tmp_path):
    """A bomb that is packed before the evidence does not hide that there was evidence."""
    data = tarred(("a.log", TEXT), ("b.log", b"a\n" * 2_000_000), ("c.log", TEXT))
    (tmp_path / "bundle.tgz").write_bytes(gzip.compress(data))
    (tmp_path / "bundle.zip").write_bytes(zipped({"a.log": TEXT, "b.log": b"b\n" * 2_000_000, "c.log": TEXT[1:]}))
    found, _, reading = told([tmp_path])
    assert len(of(found, "bundle.tgz/a.log")) == 400
    notes = {e.path: (e.status, e.note or "") for e in reading.evidence}
    assert "truncated there" in notes["bundle.tgz/b.log"][1] and "truncated there" in notes["bundle.tgz"][1]
    assert "truncated there" in notes["bundle.zip/b.log"][1]
    assert notes["bundle.zip/c.log"][0] == "unreadable" and "truncated there" in notes["bundle.zip/c.log"][1]


def test_a_log_that_grows_is_read_as_far_as_its_hash_goes(tmp_path):
    path = tmp_path / "some.log"
    path.write_bytes(TEXT)
    evidence = find_evidence([tmp_path])
    with path.open("ab") as file:
        file.write(line(500).encode() * 50)
    assert len(read_evidence(evidence).events) == 400
    assert changed_since(evidence) == []


@pytest.mark.parametrize("pack", [lambda x: x, gzip.compress, lambda x: tarred(("x.log", x))], ids=["plain", "gz", "tar"])
@pytest.mark.parametrize("how", ["cut", "replaced", "written over", "gone"])
def test_a_log_that_changes_between_looking_and_reading_is_told(how, pack, tmp_path):
    path = tmp_path / "some.log"
    path.write_bytes(pack(TEXT))
    (tmp_path / "other.log").write_bytes(b"".join(line(n).encode() for n in range(500, 510)))
    evidence = find_evidence([tmp_path])
    other = pack("".join(reversed(LINES)).encode())
    match how:
        case "cut":
            os.truncate(path, path.stat().st_size // 2)
        case "replaced":
            (tmp_path / "new").write_bytes(other)
            (tmp_path / "new").rename(path)
        case "written over":
            with path.open("r+b") as file:
                file.write(other)
        case "gone":
            path.unlink()
    reading = read_evidence(evidence, broken=True)
    assert len([e for e in reading.events if e["path"] == "other.log"]) == 10
    assert [Path(e.place.location).name for e in changed_since(evidence)] == ["some.log"]
