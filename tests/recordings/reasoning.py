# SPDX-License-Identifier: Apache-2.0
"""Holding what the case derives (records read twice, pauses, time without an owner) against what was really so. Pure functions over rows.

`python tests/recordings/reasoning.py RECORDINGS CASES [NAME...]` prints the agreement for cases that `score.py --cases CASES` left there.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as ds
from scoring import EDGE_MS, INFINITE, Clock, Row, owner_of
from truth import SAMPLE_MS, Recording, Span, recordings

from forensics.case import folder as case_folder


@dataclass
class Agreement:
    """Claims of one kind compared with the ground truth.

    Attributes:
        right: claims that the truth bears out.
        total: claims that could be compared.
        exact: right claims that left no room.
        wrong: sentences about the others.
        said: sum of what was claimed for certain (records, milliseconds).
        true: sum of what was truly so.
    """

    right: int = 0
    total: int = 0
    exact: int = 0
    wrong: list[str] = field(default_factory=list)
    said: float = 0
    true: float = 0

    def __str__(self) -> str:
        share = f", {self.said / self.true:.1%} of what was" if self.true else ""
        return f"{self.right} of {self.total} right, {self.exact} exact; certain {self.said:.0f} of {self.true:.0f}{share}" if self.total else "-"

    def judge(self, name: str, low: float, high: float, truth: float, slack: float = 0.0) -> None:
        """Count one claim that a value is between two others, against the truth."""
        self.total += 1
        self.said += low
        self.true += truth
        if low - slack <= truth <= high + slack:
            self.right += 1
            self.exact += high - low <= 2 * slack
        else:
            self.wrong.append(f"{name}: [{low:g}, {'unknown' if high >= INFINITE else f'{high:g}'}], truly {truth:g}")


@dataclass(frozen=True)
class Reading:
    """Return the offsets that a consumer truly read from a partition between two assignments of it, by the time of their batch."""

    start_ms: int
    offsets: frozenset[int]


def readings(recording: Recording) -> dict[tuple[str, str], list[Reading]]:
    """Consumer and partition to its readings, in order of time."""
    found: dict[tuple[str, str], list[tuple[int, set[int]]]] = {}
    for name, lines in recording.callbacks.items():
        for line in lines:
            for p in line.get("partitions", []):
                key = (name, f"{p['topic']}-{p['partition']}")
                if line["name"] == "partitions_assigned":
                    found.setdefault(key, []).append((line["timestamp"], set()))
                elif line["name"] == "records_consumed" and key in found:
                    found[key][-1][1].update(range(p["minOffset"], p["maxOffset"] + 1))
    return {key: [Reading(start, frozenset(offsets)) for start, offsets in spans] for key, spans in found.items()}


def score_ledger(recording: Recording, rows: list[Row], clock: Clock) -> Agreement:
    """Rows of `duplicate_ledger`: records that the old reader truly had read at or behind the place where the new one began."""
    result, read = Agreement(), readings(recording)
    for row in rows:
        old, new = (owner_of(row[side], recording.consumers) for side in ("old_process_id", "new_process_id"))
        part = str(row["resource"])
        if not old or not new or (old, part) not in read or (new, part) not in read:
            continue
        begun = clock.true_ms(row["new_process_id"], row["restarted_hi"], INFINITE) + EDGE_MS
        if begun >= recording.end_ms:
            continue
        later = read[new, part]
        own = later[: bisect_right([r.start_ms for r in later], begun)]
        before = [r for r in read[old, part] if r.start_ms <= begun and (old != new or r is not own[-1])]
        if not own or not before:
            continue
        at, old_from = int(str(row["restarted_at"])), int(str(row["old_from"]))
        truth = sum(o >= max(at, old_from) for o in before[-1].offsets)
        high = INFINITE if row["records_hi"] is None else float(str(row["records_hi"]))
        result.judge(f"{part} from {old} to {new} at {at} ({row['how']})", float(str(row["records_lo"])), high, truth)
    return result


def owners(recording: Recording, members: list[Row]) -> dict[str, str]:
    """Return the consumer of each member id, from rows of `member`."""
    named = {str(m["member_id"]): owner_of(m["process_id"], recording.consumers) for m in members}
    return {member: owner for member, owner in named.items() if owner}


def score_commits(recording: Recording, rows: list[Row], named: dict[str, str]) -> tuple[Agreement, Agreement]:
    """Rows of `offset_commit` compared with the commits that succeeded by the consumers' own records.

    Args:
        recording: the ground truth.
        rows: the commits.
        named: consumer by member id.

    Returns:
        Precision: did the consumer that a row names commit this offset. Recall: is each commit of a consumer a row that names it.
    """
    true = {
        (name, f"{p['topic']}-{p['partition']}", p["offset"])
        for name, lines in recording.callbacks.items()
        for line in lines
        if line["name"] == "offsets_committed" and line["success"]
        for p in line["offsets"]
    }
    found = {(named[str(r["member_id"])], str(r["partition"]), r["offset"]) for r in rows if str(r["member_id"]) in named}
    precision, recall = Agreement(), Agreement()
    for commit in sorted(found):
        # A consumer that is frozen or killed may not note an answer, and its records end with the scenario.
        late = commit[2] > max((o for c, p, o in true if (c, p) == commit[:2]), default=0)
        if not late:
            precision.judge(str(commit), 0, 0, commit not in true)
    for commit in sorted(true):
        recall.judge(str(commit), 0, 0, commit not in found)
    return precision, recall


def committed_before(recording: Recording) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """Consumer and partition to the start of each of its readings, and the highest offset that readings which began earlier had committed."""
    found: list[tuple[int, str, str, int]] = []
    for name, lines in recording.callbacks.items():
        since: dict[str, int] = {}
        for line in lines:
            for p in [*line.get("partitions", ()), *line.get("offsets", ())]:
                part = f"{p['topic']}-{p['partition']}"
                if line["name"] == "partitions_assigned":
                    since[part] = len(found)
                    found.append((line["timestamp"], name, part, 0))
                elif line["name"] == "offsets_committed" and line["success"] and part in since:
                    at, *who, to = found[since[part]]
                    found[since[part]] = (at, *who, max(to, p["offset"]))  # type: ignore[assignment]
    result: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for at, name, part, _ in sorted(found):
        result.setdefault((name, part), []).append((at, max((to for a, n, p, to in found if p == part and (a, n) < (at, name)), default=0)))
    return result


def score_handovers(recording: Recording, twice: list[Row], skipped: list[Row], clock: Clock) -> tuple[Agreement, Agreement]:
    """Records that had been committed before and are read again, and records that nobody had committed, for each start of a reader."""
    again, missed, true = Agreement(), Agreement(), committed_before(recording)

    def known(row: Row, process: str, at: str) -> int | None:
        name = owner_of(row[process], recording.consumers)
        begun = clock.true_ms(row[process], row[at], INFINITE) + EDGE_MS
        own = true.get((name or "", str(row["resource"])), [])
        before = bisect_right([start for start, _ in own], begun)
        return own[before - 1][1] if before and begun < recording.end_ms else None

    def bounds(row: Row, low: str, high: str) -> tuple[float, float]:
        return float(str(row[low])), INFINITE if row[high] is None else float(str(row[high]))

    for row in twice:
        to = known(row, "new_process_id", "restarted_hi")
        if to is not None and row["committed_again_lo"] is not None:
            start = int(str(row["restarted_at"]))
            name = f"{row['resource']} by {row['new_process_id']} at {start}"
            again.judge(name, *bounds(row, "committed_again_lo", "committed_again_hi"), max(0, to - start))
    for row in skipped:
        to = known(row, "process_id", "started_hi")
        if to is not None:
            start = int(str(row["started_at"]))
            missed.judge(f"{row['resource']} by {row['process_id']} at {start}", *bounds(row, "records_lo", "records_hi"), max(0, start - to))
    return again, missed


def score_moves(recording: Recording, skipped: list[Row], clock: Clock) -> Agreement:
    """Rows of `skip_ledger`: by whom or how the position at which a reader starts was set, compared with the changes to the group's offsets.

    A row that says nothing is right, and not exact.
    """
    result, true = Agreement(), committed_before(recording)
    moves = [deed for deed in recording.deeds if "moved_by" in deed]
    for row in skipped:
        name, part = owner_of(row["process_id"], recording.consumers) or "", str(row["resource"])
        begun = clock.true_ms(row["process_id"], row["started_hi"], INFINITE) + EDGE_MS
        own = [start for start, _ in true.get((name, part), []) if start <= begun]
        if not own or begun >= recording.end_ms:
            continue
        earlier = max((start for (_, p), starts in true.items() if p == part for start, _ in starts if start < own[-1]), default=0)
        done = [deed["moved_by"] for deed in moves if part in deed["offsets"] and earlier < deed["t_ms"] < own[-1]]
        to = dict(true[name, part])[own[-1]]
        truth = done[-1] if done else None if to else "nothing_committed"
        result.total += 1
        if row["moved_by"] in (truth, None):
            result.right += 1
            result.exact += row["moved_by"] == truth
        else:
            result.wrong.append(f"{part} by {name} at {row['started_at']}: {row['moved_by']}, truly {truth}")
    return result


def holes(spans: list[Span], until_ms: int) -> list[tuple[str, int, int]]:
    """Return resource, from, to: times without an owner, between its first owner and the end of the ground truth; frozen owners count as owners."""
    found, held = [], {}
    for span in sorted(spans, key=lambda s: s.start_ms):
        end = held.get(span.resource)
        if end is not None and span.start_ms > end:
            found.append((span.resource, end, span.start_ms))
        held[span.resource] = max(end or 0, span.end_ms)
    return found + [(resource, end, until_ms) for resource, end in held.items() if end < until_ms]


def score_unowned(recording: Recording, rows: list[Row], clock: Clock, at_least_ms: int = 1_000) -> tuple[Agreement, Agreement]:
    """Rows of `unowned` compared with the times in which the resource truly had no owner.

    Returns:
        Precision: does each time that is called certainly unowned lie in a true one. Recall: is each true one of some length
        covered by a row, and how much of it is certain.
    """
    kind = "task" if recording.knows_tasks else "partition"
    # Threads of a group's tasks, or partitions of the consumers' group; a span's end is the first look that no longer shows it.
    spans = recording.thread_spans if kind == "task" else recording.holding_spans
    names = list(recording.workers) or list(recording.consumers)
    true = holes(spans, recording.end_ms)
    slack = SAMPLE_MS + EDGE_MS
    precision, recall = Agreement(), Agreement()
    windows = []
    for row in rows:
        process = row.get("previous_process_id") or row.get("next_process_id")
        if row["resource_kind"] != kind or not owner_of(process, names):
            continue
        at = [clock.true_ms(process, row[c], u) for c, u in (("from_lo", -INFINITE), ("from_hi", INFINITE), ("to_lo", INFINITE), ("to_hi", INFINITE))]
        windows.append((str(row["resource"]), at))
        low, high = at[1], min(at[2], recording.end_ms)
        if low + 2 * slack < high:
            inside = any(r == row["resource"] and a - slack <= low and high <= b + slack for r, a, b in true)
            precision.judge(f"{row['resource']} [{_s(recording, low)}, {_s(recording, high)}] ({row['why']})", 0, 0, 0 if inside else high - low)
    for resource, start, end in true:
        if end - start < at_least_ms:
            continue
        near = [w for r, w in windows if r == resource and w[0] <= start + slack and end - slack <= w[3]]
        certain = max((min(w[2], end) - max(w[1], start) for w in near), default=0)
        recall.judge(f"{resource} [{_s(recording, start)}, {_s(recording, end)}]", max(0, certain), INFINITE if near else 0, end - start, slack)
    return precision, recall


def true_pauses(recording: Recording) -> dict[str, list[tuple[int, int]]]:
    """Consumer to the times from giving everything up to being given something again."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, lines in recording.callbacks.items():
        held: set[str] = set()
        since = None
        for line in lines:
            parts = {f"{p['topic']}-{p['partition']}" for p in line.get("partitions", []) if isinstance(p, dict)}
            if line["name"] == "partitions_assigned":
                held |= parts
                if since is not None and held:
                    found.setdefault(name, []).append((since, line["timestamp"]))
                    since = None
            elif line["name"] == "partitions_revoked":
                if held and not held - parts:
                    since = line["timestamp"]
                held -= parts
    return found


def score_pauses(recording: Recording, rows: list[Row], clock: Clock) -> tuple[Agreement, Agreement]:
    """Compare the pauses of `member_generation` with the consumers' own records: each claimed pause, and each true one."""
    claimed, missed = Agreement(), Agreement()
    true = true_pauses(recording)
    said: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        name = owner_of(row["process_id"], recording.consumers)
        if not name or row["paused_to_ts"] is None or not row["paused_ms"]:
            continue
        start, end = (clock.true_ms(row["process_id"], row[c], INFINITE) for c in ("paused_from_ts", "paused_to_ts"))
        if end > recording.end_ms:
            continue
        said.setdefault(name, []).append((start, end))
        pause = next(((a, b) for a, b in true.get(name, []) if abs(b - end) <= EDGE_MS), None)
        claimed.judge(
            f"{name} [{_s(recording, start)}, {_s(recording, end)}]", end - start, end - start, pause[1] - pause[0] if pause else 0, EDGE_MS
        )
    for name, pauses in true.items():
        for start, end in pauses:
            mine = next((b - a for a, b in said.get(name, []) if abs(b - end) <= EDGE_MS), 0)
            missed.judge(f"{name} [{_s(recording, start)}, {_s(recording, end)}]", mine, mine, end - start, EDGE_MS)
    return claimed, missed


def _s(recording: Recording, at_ms: float) -> str:
    return f"{(at_ms - recording.start_ms) / 1000:.2f} s"


def compare(recording: Recording, case_path: Path) -> dict[str, Agreement]:
    """Return all comparisons of one recording with its case."""
    case = case_folder.open_case(case_path)

    def rows(view: str) -> list[Row]:
        found: list[Row] = ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()
        return found

    clock = Clock(recording, rows("process"))
    claimed, missed = score_pauses(recording, rows("member_generation"), clock)
    precision, recall = score_unowned(recording, rows("unowned"), clock)
    return {
        "records read twice": score_ledger(recording, rows("duplicate_ledger"), clock),
        "pauses claimed": claimed,
        "pauses found": missed,
        "unowned claimed": precision,
        "unowned found": recall,
    }


def main() -> int:
    """Run the command; return exit code 1 if a claim is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="directory that holds recordings")
    parser.add_argument("cases", type=Path, help="directory that holds their cases")
    parser.add_argument("names", nargs="*", help="only recordings whose name contains one of these")
    args = parser.parse_args()
    wrong = 0
    for recording in recordings(args.recordings, args.names):
        if not (args.cases / recording.name / "case.json").is_file():
            continue
        sys.stdout.write(f"{recording.name}\n")
        for title, agreement in compare(recording, args.cases / recording.name).items():
            sys.stdout.write(f"  {title:20s} {agreement}\n" + "".join(f"    wrong: {w}\n" for w in agreement.wrong))
            wrong += len(agreement.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
