# SPDX-License-Identifier: Apache-2.0
"""Does each proof imply its claim by itself? A reader has the claim and the lines that it cites, and nothing else.

The cited lines, their printed times, and which of them one message joins (`clock_edge` names such pairs) are difference constraints: a message is sent
before it is received, lines of one process are in order, and a clock keeps its offset. From those alone the claim has to follow.

`python tests/proof_checker.py CASE...` prints what does not. A CASE may also be a folder with one folder of Parquet a view.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from forensics.case import folder as case_folder

Row = dict[str, Any]
FOREVER = 1 << 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: As `clock_jitter_ms` and `clock_setback`: clocks wander by this, threads print out of order by that.
JITTER_MS, DISORDER_MS = 10, 2_000
#: As `heartbeat_late_ms`: a request is on its way, and a session that ran out is noticed, within this.
LATE_MS = 2_000
EVENT = ["event_id", "process_id", "stream_pos", "ts", "resolution_ms", "event", "generation", "group_id", "old_generation", "member_id"]
SESSION = ["config", "session_timeout_ms", "duration_ms"]


@dataclass
class Evidence:
    """The facts that a claim may be derived from: printed lines by their id, and pairs of lines with a known order."""

    lines: dict[str, Row]
    links: list[tuple[str, str]]
    holdings: dict[str, Row]

    def offsets(self, cited: list[str]) -> dict[tuple[str, str], int]:
        """For ordered pairs of processes, by how much the clock of the second is ahead of the first's at most; a process against itself: below 0 if impossible."""
        known, found = set(cited), Counter[tuple[str, str]]()
        processes = {self.lines[i]["process_id"] for i in known}
        best = {(p, q): 0 if p == q else FOREVER for p in processes for q in processes}
        for first, then in self.links:
            if first in known and then in known:
                a, b = self.lines[first], self.lines[then]
                key = (a["process_id"], b["process_id"])
                best[key] = min(best[key], b["ms"] + b["resolution_ms"] - a["ms"])
                found[key] += 1
        for k in processes:
            for p in processes:
                for q in processes:
                    if best[p, k] < FOREVER and best[k, q] < FOREVER:
                        best[p, q] = min(best[p, q], best[p, k] + best[k, q])
        return best

    def of(self, cited: list[str], process: str) -> list[Row]:
        """The cited lines of one process, in their order."""
        return sorted((self.lines[i] for i in set(cited) if self.lines[i]["process_id"] == process), key=lambda line: line["stream_pos"])


def read(root: Path) -> tuple[Evidence, dict[str, list[Row]]]:
    """Evidence and claims of a case, or of a folder of views that were made from one."""
    case = case_folder.open_case(root) if (root / "case.json").is_file() else None
    place = case.view_path if case else (lambda name: root / name)

    def rows(name: str, columns: list[str] | None = None) -> list[Row]:
        return ds.dataset(str(place(name)), format="parquet").to_table(columns).to_pylist()

    paths = case.table_paths("event_row") if case else [str(root / "event_row")]
    lines = {}
    for path in paths:
        for line in ds.dataset(path, format="parquet").to_table(EVENT + SESSION).to_pylist():
            told = dict(line.pop("config") or ()).get("session.timeout.ms", line.pop("session_timeout_ms"))
            line["session_ms"] = int(told) if told is not None and str(told).isdigit() else None
            line["ms"] = None if line["ts"] is None else (line["ts"] - EPOCH) // timedelta(milliseconds=1)
            lines[line["event_id"]] = line | {"resolution_ms": line["resolution_ms"] or 1}
    links = [(e["from_event_id"], e["to_event_id"]) for e in rows("clock_edge")]
    holdings = {h["ownership_id"]: h for h in rows("holding")}
    return Evidence(lines, links, holdings), {name: rows(name) for name in ("occurrence", "split_brain", "clock_offset")}


def faults(evidence: Evidence, claims: dict[str, list[Row]]) -> list[str]:
    """Claims that do not follow from what they cite."""
    bounds = {c["process_id"]: c for c in claims["clock_offset"] if c["is_island_reference"]}
    found = []
    for row in claims["occurrence"]:
        cited = list(row["witness"] or ())
        why = "a cited line does not exist" if any(i not in evidence.lines for i in cited) else None
        if why is None and row["rule"] == "clock-skew" and row["verdict"] == "proved":
            # Of two that contradict each other, either proves it.
            process = row["subject"].split(" or ")[0]
            why = clock_fault(evidence, cited, bounds[process], row["code"] in ("set_back", "contradicted", "contradict_each_other"))
        if why is None and row["verdict"] == "proved" and row["rule"] in ("split-brain-task", "split-brain-partition"):
            proofs = [set(c["witness"]) for c in claims["split_brain"] if c["verdict"] == "proved" and c["resource"] in row["subject"]]
            why = None if any(proof <= set(cited) for proof in proofs) else "it cites no whole proof of what it is about"
        if why:
            found.append(f"{row['rule']} ({row['headline']}): {why}")
    for row in claims["split_brain"]:
        cited = list(row["witness"] or ())
        if any(i not in evidence.lines for i in cited):
            why = "a cited line does not exist"
        elif row["verdict"] == "proved":
            why = overlap_fault(evidence, cited, row)
        elif row["verdict"] == "refuted":
            why = refutation_fault(evidence, cited, row)
        else:
            why = None
        if why:
            found.append(f"{row['verdict']} {row['kind']} of {row['resource']} by {row['process_a']} and {row['process_b']}: {why}")
    return found


def clock_fault(evidence: Evidence, cited: list[str], claim: Row, stepped: bool) -> str | None:
    """Return the reason why the cited lines do not prove a finding's statement about a clock."""
    process, reference = claim["process_id"], claim["reference_process_id"]
    best = evidence.offsets(cited)
    if stepped:
        own = evidence.of(cited, process)
        back = any(a["ms"] - b["ms"] > DISORDER_MS for a, b in zip(own, own[1:], strict=False))
        return None if back or min(best[p, p] for p, _ in best) < -JITTER_MS else "one offset satisfies all cited lines"
    hi, lo = best.get((reference, process), FOREVER), -best.get((process, reference), FOREVER)
    zone = claim["suspect_time_zone"] is not None
    if claim["lo_ms"] is not None and (zone or claim["lo_ms"] > 0) and lo < claim["lo_ms"]:
        return f"the cited lines allow an offset of {lo} ms, the claim is {claim['lo_ms']} at least"
    if claim["hi_ms"] is not None and (zone or claim["hi_ms"] < 0) and hi > claim["hi_ms"]:
        return f"the cited lines allow an offset of {hi} ms, the claim is {claim['hi_ms']} at most"
    return None


def _span(evidence: Evidence, cited: list[str], ownership: Row, process: str) -> tuple[int, int]:
    """First and last moment at which cited lines of an owner show it there: not before it was, nor after it ended."""
    begun, ended = ownership["start_hi_ms"], ownership["stop_lo_ms"]
    inside = [x["ms"] for x in evidence.of(cited, process) if begun <= x["ms"] <= ended]
    known = _known(evidence, cited, ownership, process)
    if inside and known is not None and begun <= known:
        inside.append(known)
    heard = _heard(evidence, cited, ownership, process)
    if inside and heard is not None and heard >= begun:
        inside.append(heard)
    return (min(inside), max(inside)) if inside else (FOREVER, -FOREVER)


def _known(evidence: Evidence, cited: list[str], ownership: Row, process: str) -> int | None:
    """By its own clock, since when an owner whose start is in no line was there at the latest; None: no cited line shows it there before its own do.

    A request that its client cancels was sent so long before. A member id is made for one consumer: its coordinator's line with the id comes after the
    consumer, which prints the same id later.
    """
    sign = evidence.lines.get(ownership.get("start_sign_id") or "")
    if sign is None or sign["event_id"] not in cited or ownership.get("start_witness") is None:
        return None
    if sign["process_id"] == process:
        return sign["ms"] - (sign["duration_ms"] or 0) if sign["event"] == "request_cancelled" else None
    same = [x for x in evidence.of(cited, process) if x["event_id"] in ownership["start_witness"] and x["member_id"] == sign["member_id"]]
    ahead = evidence.offsets(cited).get((sign["process_id"], process), FOREVER)
    return sign["ms"] + sign["resolution_ms"] + ahead if same and sign["member_id"] and ahead < FOREVER else None


def _heard(evidence: Evidence, cited: list[str], ownership: Row, process: str) -> int | None:
    """By its own clock, when a consumer's coordinator surely heard it in the generation that gave it the partition; None: the cited lines do not show it.

    The coordinator removed it when its session had run out, which it had not when the coordinator printed its line before. The session began with a
    request of the member: the lines that say what else begins one, in that generation, are older, and a later line still has that generation.
    """
    removed = evidence.lines.get(ownership["until_id"]) if ownership.get("heard_witness") else None
    sessions = [evidence.lines[i]["session_ms"] for i in cited if evidence.lines[i].get("session_ms") is not None]
    if removed is None or removed["event_id"] not in cited or (removed["event"], removed["member_id"]) != ("member_expired", ownership["member_id"]):
        return None
    told, generation = evidence.of(cited, removed["process_id"]), ownership["generation"]
    awake = [x["ms"] for x in told if x["stream_pos"] < removed["stream_pos"] and x["ms"] <= removed["ms"] - LATE_MS]
    if not awake or not sessions:
        return None
    heard, due = max(awake) - max(sessions) - LATE_MS, removed["ms"] + removed["resolution_ms"] - max(sessions)
    group = [x for x in told if x["group_id"] == removed["group_id"]]
    begun = {x["event"] for x in group if x["generation"] == generation and x["ms"] + x["resolution_ms"] < heard}
    still = any(
        x["ms"] > due
        and (
            x["event"] == "rebalance_preparing"
            and x["old_generation"] == generation
            or x["event"] == "group_stabilized"
            and x["generation"] == generation + 1
        )
        for x in group
    )
    ahead = evidence.offsets(cited).get((process, removed["process_id"]), FOREVER)
    return heard - ahead if still and begun >= {"group_stabilized", "assignment_from_leader"} and ahead < FOREVER else None


def overlap_fault(evidence: Evidence, cited: list[str], claim: Row) -> str | None:
    """Return the reason why the cited lines do not prove that two existed at the same time, for as long as the claim says."""
    a, b = (evidence.holdings[claim[side]] for side in ("ownership_a", "ownership_b"))
    (a_from, a_to), (b_from, b_to) = _span(evidence, cited, a, claim["process_a"]), _span(evidence, cited, b, claim["process_b"])
    lo, hi = _between(evidence, cited, claim)
    if a_from == FOREVER or b_from == FOREVER:
        return f"no cited line shows {'the first' if a_from == FOREVER else 'the second'} there"
    if -FOREVER in (lo, -hi):
        return "no cited lines bound the clocks"
    least = min(min(a_to, b_to - d) - max(a_from, b_from - d) for d in (lo, hi))
    # Printed times are cut: what was there at a printed time may have come nearly a unit later, which certain_ms allows for.
    if least <= 0 or least < claim["certain_ms"]:
        return f"the cited lines show {least} ms, the claim is {claim['certain_ms']}"
    if claim["kind"] == "work":
        both = {"process_a": (max(a_from, b_from - lo), min(a_to, b_to - hi)), "process_b": (max(b_from, a_from + hi), min(b_to, a_to + lo))}
        for side, (begin, end) in both.items():
            if not any(begin <= line["ms"] <= end for line in evidence.of(cited, claim[side])):
                return f"no cited line shows {claim[side]} at work while the other was there"
    return None


def _between(evidence: Evidence, cited: list[str], claim: Row) -> tuple[int, int]:
    """By how much the second's clock is ahead of the first's: at least, at most."""
    a, b = claim["process_a"], claim["process_b"]
    if a == b:
        return 0, 0
    best = evidence.offsets(cited)
    return -best.get((b, a), FOREVER), best.get((a, b), FOREVER)


def refutation_fault(evidence: Evidence, cited: list[str], claim: Row) -> str | None:
    """Return the reason why the cited lines do not prove that one had ended before the other began."""
    a, b = (evidence.holdings[claim[side]] for side in ("ownership_a", "ownership_b"))
    if claim["clock_how"] == "messages":
        return (
            None if _handed_over(evidence, cited, a, b) or _handed_over(evidence, cited, b, a) else "no chain of messages from the end to the start"
        )
    lo, hi = _between(evidence, cited, claim)
    for first, second, ahead in ((a, b, hi), (b, a, -lo)):
        end, start = evidence.lines.get(first["stop_id"]), evidence.lines.get(second["not_before_id"])
        if end and start and {end["event_id"], start["event_id"]} <= set(cited) and end["ms"] + end["resolution_ms"] <= start["ms"] - ahead:
            return None
        if end and start and end["process_id"] == start["process_id"] and end["stream_pos"] <= start["stream_pos"] and end["event_id"] in cited:
            return None
    return f"no cited end is before a cited start (clocks apart by {lo} to {hi} ms)"


def _handed_over(evidence: Evidence, cited: list[str], first: Row, second: Row) -> bool:
    """End, then a request to join generation N, in one log; being in generation M, not before N, then the start, in the other.

    Or end, then the leader's assignment of generation N; having a share of that generation, then the start.
    """
    if len(cited) != 4:
        return False
    end, asked, got, start = (evidence.lines[i] for i in cited)
    assigned = asked["event"] == "assignment_computed" and got["event"] == "synced" and asked["generation"] in (None, got["generation"])
    return (
        end["event_id"] == first["stop_id"] and start["event_id"] == second["start_id"] and (asked["event"] == "joining" or assigned)
        and end["process_id"] == asked["process_id"] and got["process_id"] == start["process_id"]
        and end["stream_pos"] < asked["stream_pos"] and got["stream_pos"] < start["stream_pos"] and got["generation"] is not None
    )  # fmt: skip


def main(roots: list[str]) -> int:
    """Print the faults of each case; return 1 if there are any."""
    total = 0
    for root in roots:
        evidence, claims = read(Path(root))
        wrong = faults(evidence, claims)
        said = Counter(f"{r['verdict']} {r['kind']}" for r in claims["split_brain"])
        print(f"{root}: {len(wrong)} of {len(claims['finding'])} occurrences and {dict(said)}")
        for fault in wrong:
            print(f"  {fault}")
        total += len(wrong)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
