# SPDX-License-Identifier: Apache-2.0
"""Logs of which a range was zeroed, garbled, cut out or cut off: what is said of them, held against the same logs when they were whole.

`python tests/recordings/damage.py LOGS... [--places N] [--seed N] --out DIR` damages each folder of logs at some places, each in a copy of its own, and
prints every statement that the whole logs contradict. Exit code 1: there is one.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from forensics.case import views
from forensics.case.folder import open_case
from forensics.case.ingestion import ingest
from forensics.engines import engine
from forensics.report import reading, selection, verdict

Row = dict[str, Any]
VIEWS = ("split_brain", "ownership", "unowned", "finding", "incident", "coverage")
#: Times are cut to milliseconds, and bounds between clocks are a little narrower or wider with fewer lines.
SLACK = timedelta(milliseconds=50)
LONGEST = 120_000
_EVER, _NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def zeroed(data: bytes, begin: int, end: int, rng: random.Random) -> bytes:
    """Zero a range."""
    return data[:begin] + bytes(end - begin) + data[end:]


def garbled(data: bytes, begin: int, end: int, rng: random.Random) -> bytes:
    """Overwrite a range with random bytes."""
    return data[:begin] + rng.randbytes(end - begin) + data[end:]


def cut_out(data: bytes, begin: int, end: int, rng: random.Random) -> bytes:
    """Remove a range, of which nothing is left."""
    return data[:begin] + data[end:]


def cut_off(data: bytes, begin: int, end: int, rng: random.Random) -> bytes:
    """Remove all from a place on."""
    return data[:begin]


HOW: dict[str, Callable[[bytes, int, int, random.Random], bytes]] = {"zeroed": zeroed, "garbled": garbled, "cut out": cut_out, "cut off": cut_off}


@dataclass(frozen=True)
class Damage:
    """One damage: how, which file, and which bytes of it."""

    how: str
    file: str
    begin: int
    end: int

    def __str__(self) -> str:
        return f"{self.how} {self.file} {self.begin}-{self.end}"


def damages(logs: Path, places: int, seed: int) -> Iterator[Damage]:
    """Yield damages of some logs, of each kind in turn, at random places."""
    rng = random.Random(f"{seed} {logs}")
    files = sorted((p for p in logs.rglob("*.log") if p.stat().st_size > 4_096), key=str)
    for number in range(places):
        file = rng.choice(files)
        size = file.stat().st_size
        begin = rng.randrange(size // 10, size - 1_000)
        length = min(rng.choice((1_000, 10_000, LONGEST)), size // 3)
        yield Damage(list(HOW)[number % len(HOW)], str(file.relative_to(logs)), begin, min(size, begin + length))


def damaged(logs: Path, damage: Damage, to: Path, seed: int = 0) -> Path:
    """Copy logs with a damage."""
    shutil.copytree(logs, to)
    file = to / damage.file
    file.write_bytes(HOW[damage.how](file.read_bytes(), damage.begin, damage.end, random.Random(f"{seed} {damage}")))
    return to


def built(logs: Path, case: Path) -> Path:
    """Build a case."""
    views.build(ingest([logs], case).case, engine())
    return case


def rows(case: Path) -> dict[str, list[Row]]:
    """Return the rows of the views that are compared."""
    opened = open_case(case)
    return {name: ds.dataset(str(opened.view_path(name))).to_table().to_pylist() for name in VIEWS}


def title(case: Path) -> str:
    """Return what the report says about split brain."""
    return verdict.title(reading.read(open_case(case), selection.Filters()))[0]


def contradictions(whole: dict[str, list[Row]], part: dict[str, list[Row]], said: str) -> Iterator[str]:
    """Yield what the rows of damaged logs, or their verdict on split brain, say and the rows of the whole logs contradict."""
    yield from _proved(whole, part)
    yield from _without_owner(whole, part)
    yield from _owned(whole, part)
    for f in part["finding"]:
        if f["verdict"] == "proved" and f["severity"] != "note" and not any(_alike(f, w) for w in whole["finding"]):
            yield f"proved {f['rule']}/{f['code']} {f['subject']} of {f['group_id']} at {f['from_ts']}: {f['headline']}"
    for i in part["incident"]:
        if i["state"] != "over":
            continue
        for w in whole["incident"]:
            same = w["cause"] == i["cause"] and w["subject"] == i["subject"] and _touch(_span(i, "from_lo", "to_hi"), _span(w, "from_lo", "to_hi"))
            if same and (w["state"] == "open" or (w["over_since"] and i["over_since"] and i["over_since"] < w["over_since"] - SLACK)):
                yield f"over by {i['over_since']}, but {w['state']} by {w['over_since']}: {i['headline']}"
    two = [s for s in whole["split_brain"] if s["verdict"] == "proved"]
    if two and "NONE FOUND" in said:
        yield f"“{said}”, but {len(two)} pairs are proved"


def _alike(f: Row, w: Row) -> bool:
    """Return True if a finding is one of the whole logs too: the same rule, of the same group or the same subject."""
    return f["rule"] == w["rule"] and (f["group_id"] == w["group_id"] or f["subject"] == w["subject"])


def _proved(whole: dict[str, list[Row]], part: dict[str, list[Row]]) -> Iterator[str]:
    for s in part["split_brain"]:
        theirs = [w for w in whole["split_brain"] if _pair(w) == _pair(s) and _touch(_span(s, "from_lo", "to_hi"), _span(w, "from_lo", "to_hi"))]
        text = f"{s['resource']} of {s['process_a']} and {s['process_b']} from {s['from_lo']}"
        if s["verdict"] == "proved" and not any(w["verdict"] != "refuted" for w in theirs):
            yield f"proved: {text}"
        if s["verdict"] == "proved" and theirs and s["certain_ms"]:
            most = max((w["possible_ms"] if w["possible_ms"] is not None else 1 << 60) for w in theirs)
            if s["certain_ms"] > most + SLACK / timedelta(milliseconds=1):
                yield f"certain for {s['certain_ms']} ms, possible for {most} ms: {text}"
        same = [w for w in theirs if (w["ownership_a"], w["ownership_b"]) == (s["ownership_a"], s["ownership_b"]) and w["kind"] == s["kind"]]
        if s["verdict"] == "refuted" and any(w["verdict"] == "proved" for w in same):
            yield f"refuted: {text}"


def _without_owner(whole: dict[str, list[Row]], part: dict[str, list[Row]]) -> Iterator[str]:
    for u in part["unowned"]:
        if not u["certain_ms"] or not u["from_hi"] or not u["to_lo"]:
            continue
        for o in whole["ownership"]:
            begin, end = o["start_hi"] or _NEVER, o["stop_lo"] or _EVER
            if _of(o) == _of(u) and min(end, u["to_lo"]) - max(begin, u["from_hi"]) > SLACK:
                yield f"no owner of {u['resource']} from {u['from_hi']} to {u['to_lo']}, but {o['process_id']} had it from {begin} to {end}"


def _owned(whole: dict[str, list[Row]], part: dict[str, list[Row]]) -> Iterator[str]:
    for o in part["ownership"]:
        begin, end = o["start_hi"], o["stop_lo"]
        if not begin or not end or end - begin <= SLACK:
            continue
        spans = sorted(_span(w, "start_lo", "stop_hi") for w in whole["ownership"] if _of(w) == _of(o) and w["process_id"] == o["process_id"])
        reached = begin + SLACK
        for first, last in spans:
            reached = max(reached, last) if first <= reached else reached
        if reached < end - SLACK:
            yield f"{o['process_id']} owns {o['resource']} from {begin} to {end}, but no longer than {reached}"


def _of(row: Row) -> tuple[str, str]:
    return row["group_id"], row["resource"]


def _pair(row: Row) -> tuple[Any, ...]:
    return *_of(row), *sorted((row["process_a"], row["process_b"]))


def _span(row: Row, begin: str, end: str) -> tuple[datetime, datetime]:
    return row[begin] or _EVER, row[end] or _NEVER


def _touch(one: tuple[datetime, datetime], other: tuple[datetime, datetime]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def compare(logs: Path, whole: Path, damage: Damage, out: Path, seed: int = 0) -> list[str]:
    """Damage some logs whose case is `whole`; return the statements that it contradicts."""
    case = built(damaged(logs, damage, out / "logs", seed), out / "case")
    said = title(case)
    found = list(contradictions(rows(whole), rows(case), said))
    lost = {c["process_id"] for c in rows(case)["coverage"] if c["code"] == "lost"}
    if damage.how in ("zeroed", "garbled") and damage.end - damage.begin >= 1_000 and not any(name.startswith(damage.file) for name in lost):
        found.append(f"nothing is said to be lost in {damage.file}")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--places", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    faults = 0
    for logs in given.logs:
        here = given.out / str(logs).strip("/").replace("/", "_")
        whole = here / "whole"
        if not (whole / "case.json").is_file():
            built(logs, whole)
        for number, damage in enumerate(damages(logs, given.places, given.seed)):
            out = here / str(number)
            shutil.rmtree(out, ignore_errors=True)
            found = compare(logs, whole, damage, out, given.seed)
            faults += len(found)
            print(f"{logs}: {damage}: {len(found)} contradictions", *found, sep="\n  ", flush=True)
            if not found:
                shutil.rmtree(out)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
