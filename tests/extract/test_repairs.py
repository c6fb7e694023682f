# SPDX-License-Identifier: Apache-2.0
"""Jumps of local time inside a stream: another zone or machine gets a repair of its own; clocks that were set, pauses and stray lines do not."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import recogniser
from written_logs import CLIENT, CONNECT

from forensics.extract.parquet_parts import PartWriter
from forensics.extract.reading import Tools, read_splits
from forensics.extract.repairs import Repair, apply, separate
from forensics.extract.row_builder import COUNTED, EVENTS, UNRECOGNISED, Schemas
from forensics.extract.splits import RANGE_BYTES, plan
from forensics.extract.stream_segments import OTHER_LOG, Segment, _changing
from forensics.inventory.evidence import READ
from forensics.inventory.inventory import find_evidence
from forensics.inventory.source_options import SourceOptions

DAY = datetime(2026, 10, 25, tzinfo=UTC)
LOG = "w/connect.log"


def clock(text: str) -> datetime:
    """A time of that day, `HH:MM:SS`; summer time ends on it."""
    hours, minutes, seconds = (int(x) for x in text.split(":"))
    return DAY + timedelta(hours=hours, minutes=minutes, seconds=seconds)


def lines(begin: str, end: str, every: int = 60, member: str = "m1", start: bool = False, url: str = "", since: int = 0) -> str:
    """A consumer that joins generation after generation, from `since` on, and names its member id, from one local time to another."""
    out, at, n = [], clock(begin), since
    if start or url:
        out.append((at, "WorkerInfo values: \n\tos.vcpus = 2\n", f"{CONNECT}.WorkerInfo"))
    if url:
        out.append((at, f"Advertised URI: {url}", f"{CONNECT}.rest.RestServer"))
    while at <= clock(end):
        n += 1
        message = f"[Consumer clientId=c, groupId=g] Successfully joined group with generation Generation{{generationId={n}, memberId='{member}', protocol='range'}}"
        out.append((at, message, f"{CLIENT}.ConsumerCoordinator"))
        at += timedelta(seconds=every)
    return "".join(f"[{at:%Y-%m-%d %H:%M:%S},250] INFO {message} ({logger})\n" for at, message, logger in out)


def requests(begin: str, end: str, every: int = 10) -> str:
    """REST requests, which carry no fact, from one local time to another."""
    at, out = clock(begin), ""
    while at <= clock(end):
        message = f'10.0.0.1 - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET / HTTP/1.1" 200 91 "-" "curl/8" 3'
        out, at = f"{out}[{at:%Y-%m-%d %H:%M:%S},000] INFO {message} ({CONNECT}.rest.RestServer)\n", at + timedelta(seconds=every)
    return out


def read(
    root: Path, *parts: str, zone: str = "", keep_all: bool = False, range_bytes: int = RANGE_BYTES, others: Mapping[str, str] = MappingProxyType({})
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows of events, including counted ones, in order, and rows of ranges: of parts that follow each other in one file, and of other files."""
    (root / "logs" / "w").mkdir(parents=True)
    for path, text in {LOG: "".join(parts), **others}.items():
        (root / "logs" / path).write_text(text, encoding="utf-8")
    options = SourceOptions.parse([zone] if zone else ())
    evidence = [e for e in find_evidence([root / "logs"], options=options) if e.status == READ]
    schemas = Schemas.of(recogniser().catalogue.fields.values())
    with PartWriter(root / "staged", schemas) as writer:
        tools = Tools(recogniser(keep_all=keep_all), schemas)
        for splits in plan(evidence, range_bytes):
            for part in read_splits(splits, tools):
                writer.write(part)
    written = writer.written()
    named: dict[str, list[str]] = {t: [name for of, name, _ in written if of == t] for t in (EVENTS, COUNTED, UNRECOGNISED)}
    ranges = [json.loads(text) for table, text, _ in written if table == "range_row"]
    ranges = separate(
        root / "staged",
        named[EVENTS],
        named[COUNTED],
        named[UNRECOGNISED],
        ranges,
        frozenset(),
        (),
        frozenset(e.path for e in evidence if e.format.profile.dateless),
    )
    columns = ["process_id", "stream_pos", "ts", "event"]
    files = [str(file) for table in (EVENTS, COUNTED) for name in named[table] if (file := root / "staged" / name).exists()]
    events = [row for file in files for row in ds.dataset(file, format="parquet").to_table(columns).to_pylist()]
    return sorted(events, key=lambda r: r["stream_pos"]), ranges


def owners(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(r["process_id"] for r in rows))


def whys(ranges: Sequence[dict[str, Any]]) -> list[str]:
    return [r["shift_why"] for r in ranges if r.get("shift_why")]


def is_in_order(rows: Sequence[dict[str, Any]]) -> bool:
    times = [r["ts"] for r in rows if r["ts"] is not None]
    return times == sorted(times)


def gaps(ranges: Sequence[dict[str, Any]]) -> list[int]:
    """Silences of more than five minutes, in minutes."""
    found = [(g["to_ts"] - g["from_ts"]) // 60_000_000 for r in ranges for g in r["gaps"]]
    return [minutes for minutes in found if minutes >= 5]


def times(rows: Sequence[dict[str, Any]], process_id: str) -> tuple[str, str]:
    """First and last time of a process."""
    told = [r["ts"].strftime("%H:%M") for r in rows if r["process_id"] == process_id]
    return told[0], told[-1]


def test_the_log_of_another_machine_behind_the_first_is_a_process_of_its_own(tmp_path):
    rows, ranges = read(tmp_path, lines("11:00:00", "11:48:00"), lines("05:55:00", "06:20:00", member="m2", start=True))
    assert owners(rows) == [LOG, f"{LOG}#2"]
    # Nobody says in which zone that machine was: its times are as printed.
    assert times(rows, f"{LOG}#2") == ("05:55", "06:20")
    assert whys(ranges) == ["other_log"]
    assert gaps(ranges) == []
    spans = [(r["process_id"], r["first_ts"], r["last_ts"]) for r in ranges]
    assert [(name, (last - first) // 60_000_000) for name, first, last in spans] == [(LOG, 48), (f"{LOG}#2", 25)]
    assert sum(r["records"] for r in ranges) == len(rows)


def test_it_needs_no_start_when_the_members_differ(tmp_path):
    rows, ranges = read(tmp_path, lines("11:00:00", "11:48:00"), lines("05:55:00", "06:20:00", member="m2"))
    assert owners(rows) == [LOG, f"{LOG}#2"]
    assert whys(ranges) == ["other_log"]


def test_logs_of_two_machines_in_one_zone(tmp_path):
    """Their times overlap: the second begins a few minutes before the first ends."""
    for n, start in enumerate((True, False)):
        rows, ranges = read(tmp_path / str(n), lines("11:00:00", "11:08:00"), lines("11:03:00", "11:09:00", member="m2", start=start))
        assert owners(rows) == [LOG, f"{LOG}#2"]
        assert times(rows, f"{LOG}#2") == ("11:03", "11:09")
        assert whys(ranges) == ["other_log"]


def test_the_log_of_a_machine_further_east_behind_the_first(tmp_path):
    """Time does not go back; the name shows the order."""
    east = lines("12:05:00", "12:35:00", member="m2", url="http://w2:8083/"), lines("12:40:00", "12:50:00", member="m3", url="http://w2:8083/")
    rows, ranges = read(tmp_path, lines("11:00:00", "11:30:00", url="http://w1:8083/"), *east)
    assert owners(rows) == [LOG, f"{LOG}#2"]
    assert times(rows, f"{LOG}#2") == ("12:05", "12:50")
    assert whys(ranges) == ["other_log"]


def test_logs_that_are_merged_line_by_line_are_left_together(tmp_path):
    one, other = (lines("11:00:00", "11:30:00", member=m, url=f"http://{m}:8083/").splitlines(keepends=True) for m in ("m1", "m2"))
    merged = sorted("".join(pair) for pair in zip(one[3:], other[3:], strict=True))
    rows, ranges = read(tmp_path, "".join(one[:3]), *merged[:9], "".join(other[:3]).replace("11:00", "11:09"), *merged[9:])
    assert owners(rows) == [LOG]
    assert whys(ranges) == []


def parts_of(*times: str, member: str = "m1", since: int = 0, url: str = "", begin: int = 0) -> list[str]:
    """Return a log that was cut at some times, each part with its generations; one of them may begin with a start."""
    found, n = [], since
    for at, (first, last) in enumerate(itertools.pairwise(times)):
        until = (clock(last) - timedelta(seconds=60)).strftime("%H:%M:%S")
        found.append(lines(first, until, member=member, url=url if at == begin else "", since=n))
        n += found[-1].count("Successfully")
    return found


def read_in_order(root: Path, parts: Sequence[str], *, shifted: bool = True) -> list[dict[str, Any]]:
    """Ranges of parts that are joined in some order, whose rows are in the order of time, as one process."""
    rows, ranges = read(root, *parts)
    assert owners(rows) == [LOG]
    assert is_in_order(rows)
    assert len(rows) == len("".join(parts).splitlines()) - 2 * "".join(parts).count("WorkerInfo values")
    assert set(whys(ranges)) <= {"earlier_part"}
    assert bool(whys(ranges)) == shifted
    assert {r["process_id"] for r in ranges} == {LOG}
    return ranges


def test_files_of_one_process_in_the_wrong_order(tmp_path):
    """The lines after it are the earlier part: with their own start, or with lower generations of the same member."""
    later = lines("11:00:00", "11:40:00", url="http://w1:8083/", since=100), lines("11:00:00", "11:40:00", since=1000)
    earlier = lines("10:31:00", "10:59:00", member="m0", url="http://w1:8083/", since=50), lines("05:31:00", "10:59:00")
    for n, parts in enumerate(zip(later, earlier, strict=True)):
        ranges = read_in_order(tmp_path / str(n), parts)
        assert whys(ranges) == ["earlier_part"]
        assert gaps(ranges) == []


def test_rotated_files_as_a_shell_sorts_their_names(tmp_path):
    """connect.log, connect.log.1, connect.log.10, connect.log.11, connect.log.2: the oldest are in the middle."""
    old_to_new = parts_of(*(f"{hour:02}:{minute:02}:00" for hour in range(1, 9) for minute in (0, 30)), url="http://w1:8083/")
    new_to_old = old_to_new[::-1]
    by_name = sorted(range(len(new_to_old)), key=lambda n: f".{n}" if n else "")
    ranges = read_in_order(tmp_path, [new_to_old[n] for n in by_name])
    assert gaps(ranges) == []


@pytest.mark.parametrize("order", ["1232", "12123", "11", "12312", "3221", "3123"])
def test_a_part_that_is_there_twice_is_read_once(order: str, tmp_path):
    """Complete, or as the beginning of the part that continues, in any order."""
    parts = parts_of("01:00:00", "02:00:00", "03:00:00", "04:00:00", url="http://w1:8083/")
    known = "".join(parts[n] for n in sorted({int(n) - 1 for n in order}))
    whole, _ = read(tmp_path / "whole", known)
    rows, ranges = read(tmp_path / "twice", *(parts[int(n) - 1] for n in order))
    assert [(r["ts"], r["event"]) for r in rows] == [(r["ts"], r["event"]) for r in whole]
    assert owners(rows) == [LOG]
    assert "repeated" in whys(ranges)
    assert gaps(ranges) == []


def test_what_two_workers_say_in_one_second_is_not_said_twice(tmp_path):
    def worker(url: str, begin: str, second: str) -> str:
        said = (
            "Rebalance started",
            "Joined group at generation 3 with protocol version 2",
            "Starting connectors and tasks using config offset 7",
            "Finished starting connectors and tasks",
        )
        text = lines(begin, begin, url=url) + "".join(
            f"[2026-10-25 11:00:0{n},000] INFO [Worker clientId=connect-1, groupId=g] {message} ({CONNECT}.distributed.DistributedHerder)\n"
            for n, message in enumerate(said)
        )
        return text + lines(second, "11:30:00", member=url)

    rows, ranges = read(tmp_path, worker("http://w1:8083/", "10:00:00", "11:01:00"), worker("http://w2:8083/", "10:00:07", "11:02:00"))
    assert "repeated" not in whys(ranges)
    assert len([r for r in rows if r["ts"].hour == 11 and r["ts"].minute == 0]) == 6


def test_captures_that_overlap_are_read_as_one(tmp_path):
    log = lines("01:00:00", "04:00:00").splitlines(keepends=True)
    rows, ranges = read(tmp_path, *log[:100], *log[60:150], *log[140:])
    assert [r["ts"] for r in rows] == [clock("01:00:00") + timedelta(minutes=n, milliseconds=250) for n in range(181)]
    assert whys(ranges) == ["repeated"] * 2
    assert gaps(ranges) == []
    assert {len(r["shift_ids"]) for r in ranges if r.get("shift_ids")} == {4}


@pytest.mark.parametrize("cut", [0, 100], ids=["whole", "last_line_cut"])
@pytest.mark.parametrize("again", [1, 2, 3], ids=["one", "two", "three"])
@pytest.mark.parametrize("behind", [0, 40], ids=["at_the_end", "in_the_midst"])
def test_the_fewest_lines_that_stand_again_set_no_clock_back(tmp_path, again, cut, behind):
    """If most of the joined lines are one configuration, few lines have a time, and these may all have the same one."""
    log = lines("01:00:00", "03:00:00", every=30).splitlines(keepends=True)
    said = [
        f"[2026-10-25 01:20:00,250] INFO [Worker clientId=connect-1, groupId=g] {message} ({CONNECT}.distributed.DistributedHerder)\n"
        for message in ("Starting connectors and tasks using config offset 7", "Finished starting connectors and tasks", "Rebalance started")
    ]
    whole = [*log[:41], *said, *log[41:]]
    piece = "".join(said[:again])
    piece = piece[: len(piece) - cut] + "\n" * bool(cut)
    at = len(whole) - behind
    rows, ranges = read(tmp_path, *whole[:at], piece, *whole[at:])
    times = [r["ts"] for r in rows]
    assert sum(b - a < timedelta(seconds=-2) for a, b in itertools.pairwise(times)) <= (cut > 0 or again == 1)
    assert len(rows) <= len(whole) + (cut > 0 or again == 1)
    assert whys(ranges) == ["repeated"] * (again - (cut > 0) > 0)


def test_a_loop_that_stands_in_a_log_twice(tmp_path):
    """It says one thing again and again, but not in the same milliseconds."""
    loop = [
        f"[2026-10-25 01:20:0{n // 10},{n % 10}17] WARN [Consumer clientId=c, groupId=g] Asynchronous auto-commit of offsets {{lab-0=OffsetAndMetadata{{offset=0, leaderEpoch=null, metadata=''}}}} failed: later ({CLIENT}.ConsumerCoordinator)\n"
        for n in range(30)
    ]
    rows, ranges = read(tmp_path, lines("01:00:00", "01:20:00"), *loop, *loop[10:], lines("01:21:00", "02:00:00", since=21))
    assert whys(ranges) == ["repeated"]
    assert len(rows) == 21 + 30 + 40


def test_a_clock_that_was_set_back_says_nothing_again(tmp_path):
    rows, ranges = read(tmp_path, lines("01:00:00", "03:00:00"), lines("02:59:00", "04:00:00", since=121))
    assert whys(ranges) == []
    assert len(rows) == 121 + 62


def test_what_is_new_behind_a_repeated_part_is_kept(tmp_path):
    log = lines("01:00:00", "03:00:00").splitlines(keepends=True)
    new = f"[2026-10-25 02:40:30,250] INFO [Consumer clientId=c, groupId=g] Something that nobody knows ({CLIENT}.ConsumerCoordinator)\n"
    read(tmp_path, *log[:100], *log[60:100], new, *log[101:])
    (rows,) = (file for file in (tmp_path / "staged").iterdir() if "unrecognised" in file.name)
    assert ds.dataset(rows).to_table().num_rows == 1


def test_small_parts_begin_hardly_before_those_in_front_of_them(tmp_path):
    oldest, older = lines("01:00:00", "01:00:01", every=1), lines("01:00:02", "01:00:03", every=1, since=2)
    ranges = read_in_order(tmp_path, [lines("01:00:04", "01:10:00", every=1, since=4), older, oldest])
    assert whys(ranges) == ["earlier_part"] * 2


def test_files_with_dates_in_their_names(tmp_path):
    """The newest, which has none, comes first, and all others in their order."""
    *older, newest = parts_of("01:00:00", "02:00:00", "03:00:00", "04:00:00", url="http://w1:8083/")
    assert whys(read_in_order(tmp_path, [newest, *older])) == ["earlier_part"]


def test_a_part_that_is_missing_is_a_silence(tmp_path):
    first, _, *later = parts_of("01:00:00", "02:00:00", "03:00:00", "04:00:00", "05:00:00", url="http://w1:8083/")
    assert gaps(read_in_order(tmp_path, [*later[::-1], first])) == [61]


def test_a_part_that_names_nobody_is_of_the_process_that_printed_before_and_behind_it(tmp_path):
    oldest, quiet, newest = lines("01:00:00", "01:59:00"), requests("02:00:00", "02:59:50"), lines("03:00:00", "04:00:00", since=60)
    rows, _ = read(tmp_path, newest, quiet, oldest)
    assert owners(rows) == [LOG]
    assert is_in_order(rows)


@given(st.permutations(range(6)), st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=25)
def test_parts_in_any_order_give_the_rows_of_the_whole(order: list[int], begin: int, other: int) -> None:
    """A worker that started once or twice while its log was written."""
    times = [f"{hour:02}:17:00" for hour in range(1, 8)]
    whole = parts_of(*times[: other + 1], url="http://w1:8083/") if other else []
    whole += parts_of(*times[other:], url="http://w1:8083/", member="m2", since=1000, begin=begin if not other else 0)
    with tempfile.TemporaryDirectory() as root:
        read_in_order(Path(root), [whole[n] for n in order], shifted=order != sorted(order))


def test_a_worker_that_starts_again_with_its_clock_set_back_is_the_same_process(tmp_path):
    parts = lines("11:00:00", "11:30:00", url="http://w1:8083/"), lines("11:25:00", "11:50:00", member="m2", url="http://w1:8083/")
    rows, ranges = read(tmp_path, *parts)
    assert owners(rows) == [LOG]
    assert whys(ranges) == []


def test_a_worker_whose_clock_was_set_back_behind_its_whole_log_is_the_same_process(tmp_path):
    """The generations of its group continue; if they do not, it is the earlier part of the log."""
    for n, begin in enumerate(("10:33:00", "05:33:00", "10:30:30")):
        parts = lines("11:00:00", "11:30:00", url="http://w1:8083/"), lines(begin, f"{begin[:2]}:50:00", member="m2", url="http://w1:8083/", since=31)
        rows, ranges = read(tmp_path / str(n), *parts)
        assert owners(rows) == [LOG]
        # Whole hours but for less than a minute are another zone.
        assert whys(ranges) == (["time_zone"] if n == 2 else [])


def test_logs_of_two_machines_by_turns_are_two_processes(tmp_path):
    parts = lines("11:00:00", "11:30:00"), lines("05:31:00", "06:00:00", member="m2"), lines("12:01:00", "12:20:00")
    rows, ranges = read(tmp_path, *parts)
    assert owners(rows) == [LOG, f"{LOG}#2"]
    assert times(rows, LOG) == ("11:00", "12:20")
    assert times(rows, f"{LOG}#2") == ("05:31", "06:00")
    assert rows[-1]["process_id"] == LOG
    assert whys(ranges) == ["other_log", "other_log"]


def test_a_machine_that_is_set_to_another_zone_is_the_same_process(tmp_path):
    rows, ranges = read(tmp_path, lines("11:00:00", "11:30:00"), lines("05:30:20", "06:00:00", since=31))
    assert owners(rows) == [LOG]
    assert is_in_order(rows)
    assert whys(ranges) == ["time_zone"]
    assert gaps(ranges) == []


def test_the_end_of_summer_time(tmp_path):
    rows, ranges = read(tmp_path, lines("01:30:30", "02:59:30"), lines("02:00:30", "04:00:00"))
    assert owners(rows) == [LOG]
    assert is_in_order(rows)
    assert whys(ranges) == ["daylight_saving"]


def test_lines_that_are_only_counted_show_where_time_jumps(tmp_path):
    parts = (lines("00:00:00", "02:59:00"), requests("02:59:10", "02:59:59"), requests("02:00:01", "02:00:50"), lines("02:01:00", "04:00:00"))
    rows, ranges = read(tmp_path / "few", *parts)
    all_rows, all_ranges = read(tmp_path / "all", *parts, keep_all=True)
    assert [r["counted"] for r in ranges] == [10, 0]
    assert whys(ranges) == ["daylight_saving"]
    assert rows == all_rows
    assert [r["ts"] for r in rows] == sorted(r["ts"] for r in rows)
    assert len(ranges[1]["shift_ids"]) == 4

    def without_ids(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**r, "shift_ids": None, "counted": None} for r in found]

    assert without_ids(ranges) == without_ids(all_ranges)


def test_the_repeated_hour_of_a_zone_that_was_told(tmp_path):
    rows, ranges = read(tmp_path, lines("01:30:30", "02:59:30"), lines("02:00:30", "04:00:00"), zone="Europe/Berlin")
    assert owners(rows) == [LOG]
    assert is_in_order(rows)
    assert whys(ranges) == ["daylight_saving", "daylight_saving"]
    assert (rows[-1]["ts"] - rows[0]["ts"]).total_seconds() // 60 == 209
    assert gaps(ranges) == []


def test_clocks_that_are_set_are_left_alone(tmp_path):
    for n, again in enumerate(("11:29:20", "11:09:47", "10:37:40", "05:37:40")):
        rows, ranges = read(tmp_path / str(n), lines("11:00:00", "11:30:00"), lines(again, "11:45:00"))
        assert owners(rows) == [LOG], again
        assert whys(ranges) == [], again
        assert gaps(ranges) == [], again


def test_a_clock_that_is_set_back_by_seconds_is_left_alone_where_much_is_printed(tmp_path):
    """Lines printed in those seconds could be sorted in between."""
    rows, ranges = read(tmp_path, lines("11:00:00", "11:05:00", every=1), lines("11:04:56", "11:10:00", every=1, since=301))
    assert owners(rows) == [LOG]
    assert whys(ranges) == []


def test_pauses_are_left_alone(tmp_path):
    pause = lines("05:00:00", "05:30:00"), lines("11:30:00", "12:00:00")
    within_silence = lines("11:00:00", "11:30:00"), lines("23:30:00", "23:30:00"), lines("11:50:00", "12:00:00")
    hourly = (lines("01:00:00", "09:00:00", every=3600),)
    found = []
    for n, parts in enumerate((pause, within_silence, hourly)):
        rows, ranges = read(tmp_path / str(n), *parts)
        assert owners(rows) == [LOG]
        assert set(whys(ranges)) <= {"wrong_time"}
        found.append(gaps(ranges))
    assert found == [[360], [20], [60] * 8]


@pytest.mark.parametrize("keep_all", [False, True])
@pytest.mark.parametrize("wrong", [lines("05:30:00", "05:30:00"), lines("11:50:00", "11:50:02", every=1), requests("17:30:00", "17:30:00"), "nobody"])
def test_a_line_whose_time_cannot_be_has_none(wrong: str, keep_all: bool, tmp_path):
    """One that is long before the log begins, several that are long after the lines around them, one that is only counted, one of no pattern."""
    nobody = "[2031-10-25 11:29:00,250] INFO Something that nobody knows (org.example.Main)\n"
    before, behind = lines("11:00:00", "11:30:00"), lines("11:30:01", "11:59:01", since=31)
    rows, ranges = read(tmp_path, before, wrong if wrong != "nobody" else nobody, behind, keep_all=keep_all)
    assert owners(rows) == [LOG]
    assert is_in_order(rows)
    assert [r["ts"] for r in rows].count(None) == (0 if wrong == "nobody" else len(rows) - len(f"{before}{behind}".splitlines()))
    assert (min(r["first_ts"] for r in ranges), max(r["last_ts"] for r in ranges)) == tuple(
        int(clock(t).timestamp() * 1_000_000) + 250_000 for t in ("11:00:00", "11:59:01")
    )
    assert gaps(ranges) == []
    if wrong == "nobody":
        assert whys(ranges) == []
        return
    assert whys(ranges) == ["wrong_time"]
    (told,) = (r for r in ranges if r.get("shift_why"))
    assert told["first_ts"] - told["shift_ms"] * 1000 in {int(clock(t).timestamp() * 1_000_000) for t in ("05:30:00", "11:50:00", "17:30:00")} | {
        int(clock(t).timestamp() * 1_000_000) + 250_000 for t in ("05:30:00", "11:50:00", "17:30:00")
    }
    assert sum(r["records"] for r in ranges) == len(rows)


def test_three_lines_near_each_other_whose_times_cannot_be_are_found_like_one(tmp_path):
    parts = [lines("11:00:00", "11:30:00"), lines("11:31:00", "11:50:00", since=31), lines("11:50:01", "11:50:20", every=1, since=51)]
    wrong = [in_year(2025, lines(at, at)) for at in ("11:30:30", "11:50:00", "11:50:21")]
    rows, ranges = read(tmp_path, parts[0], wrong[0], parts[1], wrong[1], parts[2], wrong[2], lines("11:51:20", "12:20:20", since=71))
    assert [r["ts"] is None for r in rows].count(True) == 3
    assert whys(ranges) == ["wrong_time"] * 3


def test_two_wrong_times_beside_each_other_are_bounded_by_right_ones(tmp_path):
    wrong = in_year(2025, lines("11:30:00", "11:30:00")), in_year(2035, lines("11:30:00", "11:30:00"))
    rows, ranges = read(tmp_path, lines("11:00:00", "11:30:00"), *wrong, lines("11:30:01", "11:59:01", since=31))
    assert [r["ts"] for r in rows].count(None) == 2
    assert is_in_order(rows)
    assert [r["first_ts"] for r in ranges if r.get("shift_why")] == [int(clock("11:30:00").timestamp() * 1_000_000) + 250_000] * 2


def in_year(year: int, text: str) -> str:
    return text.replace("[2026-", f"[{year}-")


ALONE = lines("11:10:00", "11:10:00")


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (in_year(2035, ALONE), ""),
        (in_year(2021, ALONE), ""),
        (lines("11:50:00", "11:50:02", every=1), ""),
        ("", in_year(2035, ALONE)),
        ("", in_year(2021, ALONE)),
    ],
)
def test_a_wrong_time_at_an_end_of_a_log_is_no_time(first: str, last: str, tmp_path):
    """Nothing says how long before, or after, the next line it was printed."""
    rows, ranges = read(tmp_path, first, lines("11:00:00", "11:30:00", since=1), last)
    at_end = rows[: first.count("INFO")] if first else rows[-1:]
    assert [r["ts"] for r in at_end] == [None] * len(at_end)
    assert len(rows) == 31 + len(at_end)
    assert whys(ranges) == ["wrong_time"]
    assert gaps(ranges) == []
    assert {min(r["first_ts"] for r in ranges), max(r["last_ts"] for r in ranges)} == {
        int(clock(t).timestamp() * 1_000_000) + 250_000 for t in ("11:00:00", "11:30:00")
    }


def test_last_lines_after_a_silence_have_their_times(tmp_path):
    """A night, a year where another log has lines then, and where the log is often silent."""
    late = in_year(2027, ALONE)
    night, _ = read(tmp_path / "night", lines("01:00:00", "01:30:00"), lines("23:00:00", "23:00:00"))
    witnessed, _ = read(tmp_path / "witnessed", lines("11:00:00", "11:30:00"), late, others={"w/server.log": late})
    often, _ = read(tmp_path / "often", in_year(2025, lines("11:00:00", "11:30:00")), lines("11:00:00", "11:30:00"), late)
    for rows in (night, witnessed, often):
        assert None not in [r["ts"] for r in rows]


def test_a_wrong_time_at_the_end_of_a_rotated_file_is_none(tmp_path):
    rows, ranges = read(tmp_path, lines("11:31:00", "12:00:00", since=40), others={f"{LOG}.1": lines("11:00:00", "11:30:00") + in_year(2035, ALONE)})
    assert is_in_order(rows)
    assert whys(ranges) == ["wrong_time"]
    assert gaps(ranges) == []


def test_what_a_process_says_first_after_it_was_stopped_has_no_wrong_time(tmp_path):
    """Other threads were about to print when it was stopped, and do so afterwards."""
    late = lines("11:00:01", "11:00:02", every=1), lines("11:20:01", "11:25:00", every=1, since=100)
    _, ranges = read(tmp_path, lines("10:59:00", "11:00:00", every=1), lines("11:20:00", "11:20:00", since=99), *late)
    assert whys(ranges) == []


def test_lines_of_two_clocks_by_turns_have_no_wrong_times(tmp_path):
    turns = (lines(f"11:{n:02}:00", f"11:{n:02}:20", every=1) + lines(f"11:{n + 10:02}:00", f"11:{n + 10:02}:00") for n in range(9))
    _, ranges = read(tmp_path, *turns)
    assert whys(ranges) == []


@pytest.mark.parametrize("size", [700, 3_000])
def test_a_wrong_time_is_found_wherever_the_log_is_cut(size: int, tmp_path):
    parts = lines("11:00:00", "11:30:00"), lines("23:30:00", "23:30:02", every=1), lines("11:31:00", "11:40:00", since=31)
    rows, ranges = read(tmp_path / "cut", *parts, range_bytes=size)
    whole, _ = read(tmp_path / "whole", *parts)
    assert rows == whole
    assert len([r for r in ranges if not r.get("shift_why")]) > 2
    assert whys(ranges) == ["wrong_time"]


def test_a_clock_that_is_set_ahead_for_a_while_leaves_no_silence(tmp_path):
    """Nobody knows how long nothing was printed while it was wrong."""
    _, ranges = read(tmp_path, lines("11:00:00", "11:30:00"), lines("13:33:00", "13:36:00", since=31), lines("11:41:00", "11:50:00", since=35))
    assert gaps(ranges) == []


def test_disorder_is_no_row_of_machines(tmp_path):
    turns = [(lines("11:00:00", "11:05:00", member="m1", since=n), lines("05:00:00", "05:05:00", member="m2", since=n)) for n in range(0, 120, 10)]
    parts = [part for turn in turns for part in turn]
    rows, ranges = read(tmp_path, *parts)
    assert owners(rows) == [LOG]
    assert whys(ranges) == []


def test_rows_that_do_not_change_are_not_written_again(tmp_path):
    """Parts of one log that follow each other in the order of time have a time of their own, but their rows stay as they are."""
    file = tmp_path / "rows.parquet"
    ts = pa.array([1_000, 2_000, None, 9_000], pa.int64()).cast(pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"process_id": ["p"] * 4, "path": ["p.log"] * 4, "stream_pos": [0, 10, 20, 30], "ts": ts}), file)
    os.utime(file, ns=(1, 1))
    repairs = [Repair("p", begin, end, 0, 0, "p", "", "p.log", (2_000, 9_000)) for begin, end in ((0, 20), (20, 40))]
    counts = {"path": "p.log", "range_start": 0, "range_end": 40, "process_id": "p", "first_ts": 1_000, "last_ts": 9_000, "gaps": None}
    ranges = apply(repairs, [file], [counts])
    assert [(r["first_ts"], r["last_ts"]) for r in ranges] == [(None, None), (1_000, 2_000), (9_000, 9_000)]
    assert file.stat().st_mtime_ns == 1
    apply([repairs[0], replace(repairs[1], shift_us=5)], [file], [counts])
    assert pq.read_table(file)["ts"].cast(pa.int64()).to_pylist() == [1_000, 2_000, None, 9_005]


def test_a_part_that_is_like_the_one_before_it_is_no_repair():
    """Workers one after the other in one log: where a process goes on, nothing changes, and when it prints again is known from its lines."""
    first, again, other = Segment(0, 0, 0, "", 0, 5_000), Segment(10, 0, 0, "", 0, 9_000), Segment(20, 0, 1, OTHER_LOG)
    assert _changing([first, again, other]) == [first._replace(until=9_000), other]
    moved = Segment(30, 0, 1, "earlier_part", -40)
    assert _changing([first, other, moved, moved._replace(begin=40, why="")]) == [first, other, moved]


@pytest.mark.parametrize(
    ("begin", "until"), [(3600 * 23 + 3480, 240), (3600 * 23 + 3599, 600), (3600 * 23, 3 * 86_400)], ids=["minutes", "one line", "days"]
)
def test_times_without_a_date_are_of_the_next_day_after_midnight(begin: int, until: int, tmp_path) -> None:
    every = max(1, until // 20) if until < 86_400 else 3600
    moments = [DAY + timedelta(seconds=begin + n * every) for n in range(until // every + 1)]
    message = "[Consumer clientId=c, groupId=g] Successfully joined group with generation Generation{generationId=%d, memberId='m', protocol='range'}"
    rows, ranges = read(tmp_path, *(f"{at:%H:%M:%S},250 INFO {message % n} ({CLIENT}.ConsumerCoordinator)\n" for n, at in enumerate(moments, 1)))
    assert owners(rows) == [LOG]
    assert [b["ts"] - a["ts"] for a, b in itertools.pairwise(rows)] == [b - a for a, b in itertools.pairwise(moments)]
    assert rows[-1]["ts"].date() == datetime.fromtimestamp((tmp_path / "logs" / LOG).stat().st_mtime, UTC).date()
    assert set(whys(ranges)) == {"midnight"}
