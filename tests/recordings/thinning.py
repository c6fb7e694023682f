# SPDX-License-Identifier: Apache-2.0
"""Evidence taken away: logs that lost lines, held against the same logs when they were whole.

`python tests/recordings/thinning.py RECORDINGS [NAME...] [--seed N] [--how HOW...] --out DIR` says what became of verdicts and ownerships. Each copy of a
recording, thinned in its own way, makes a case of its own. Exit code 1: a false word.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.dataset as ds
from accuracy import Thinned
from closing import log_text
from scoring import Clock, Row, Score, score_ownership
from truth import Recording, recordings
from verdicts import score_split_brain

from forensics.case import views
from forensics.case.ingestion import ingest as read_in
from forensics.engines import engine

#: Views that are compared; `holding` has the times of each process's own clock, so that no bound between clocks is in the way.
VIEWS = ("process", "holding", "ownership", "split_brain")
RE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2},[0-9]{3}")
RE_LOGGER = re.compile(r"\((?P<logger>[A-Za-z0-9_.$]+)(?::[0-9]+)?\)\s*$")
#: Times are cut to milliseconds, and a neighbouring line may be used in place of a line.
SLACK = timedelta(milliseconds=5)

Thinning = Callable[[str, random.Random], str]


def single(share: float) -> Thinning:
    """Remove single lines, each with the same probability."""
    return lambda text, rng: "".join(line for line in text.splitlines(keepends=True) if rng.random() >= share)


def stretch(seconds: float) -> Thinning:
    """Remove all lines of some seconds, at a random place."""

    def cut(text: str, rng: random.Random) -> str:
        lines = text.splitlines(keepends=True)
        times = [m[0] for line in lines if (m := RE_TIME.search(line[:40]))]
        if len(times) < 2:
            return text
        start = rng.choice(times)
        until = (datetime.fromisoformat(start.replace(",", ".")) + timedelta(seconds=seconds)).isoformat(" ", "milliseconds").replace(".", ",")
        kept, inside = [], False
        for line in lines:
            found = RE_TIME.search(line[:40])
            inside = start <= found[0] < until if found else inside
            kept += [] if inside else [line]
        return "".join(kept)

    return cut


def loggers(share: float) -> Thinning:
    """Remove whole loggers, each with the same probability."""

    def quiet(text: str, rng: random.Random) -> str:
        lines = text.splitlines(keepends=True)
        named = sorted({m["logger"] for line in lines if (m := RE_LOGGER.search(line))})
        lost = {name for name in named if rng.random() < share}
        return "".join(line for line in lines if not ((m := RE_LOGGER.search(line)) and m["logger"] in lost))

    return quiet


def clients(text: str, rng: random.Random) -> str:
    """Remove the INFO lines of clients, as if `org.apache.kafka.clients` and `.common` were at WARN."""
    lost = re.compile(r"\bINFO\b.*\((?:org\.apache\.kafka\.(?:clients|common)\.[A-Za-z0-9_.$]+)(?::[0-9]+)?\)\s*$")
    return "".join(line for line in text.splitlines(keepends=True) if not lost.search(line))


WAYS: dict[str, Thinning] = {
    "1%": single(0.01),
    "5%": single(0.05),
    "20%": single(0.20),
    "5s": stretch(5),
    "20s": stretch(20),
    "loggers": loggers(0.1),
    "clients": clients,
}


def begin(text: str, rng: random.Random) -> str:
    """Remove all lines before a random place."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[rng.randrange(1, len(lines)) :]) if len(lines) > 1 else text


def end(text: str, rng: random.Random) -> str:
    """Remove all lines after a random place."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[: rng.randrange(1, len(lines))]) if len(lines) > 1 else text


#: Ways that one log of the recording suffers, by chance which; the others are whole.
OF_ONE: dict[str, Thinning] = {
    "5s of one log": stretch(5),
    "15s of one log": stretch(15),
    "30s of one log": stretch(30),
    "begin of one log": begin,
    "end of one log": end,
}


@dataclass
class Copy:
    """One copy of a recording: how it was thinned, and its rows, named as in the recording."""

    name: str
    how: str = ""
    rows: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def holdings(self) -> dict[str, Row]:
        """Ownerships by their id, with the times of their own process's clock."""
        return {str(row["ownership_id"]): row for row in self.rows["holding"]}


def write_copies(logs: Path, root: Path, thinnings: Sequence[str], seed: int) -> list[Copy]:
    """Write the logs of a complete copy (`c000`) and of one thinned copy for each way, each in a folder of its own."""
    texts = {path.relative_to(logs): log_text(path) for path in sorted(logs.rglob("*.log*"))}
    copies = [Copy("c000"), *(Copy(f"c{n:03d}", how) for n, how in enumerate(thinnings, 1))]
    for copy in copies:
        rng = random.Random(f"{seed} {copy.name}")
        hit = {rng.choice(sorted(texts))} if copy.how in OF_ONE else set(texts)
        for path, whole in texts.items():
            text = (WAYS | OF_ONE)[copy.how](whole, rng) if copy.how and path in hit else whole
            file = root / copy.name / "logs" / path.with_suffix(".log")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return copies


def read_copies(copies: Iterable[Copy], root: Path) -> None:
    """Make a case of each copy, and yield its rows of the views.

    In one case they would be copies of one log, of which all but the whole are left out.
    """
    for copy in copies:
        shutil.rmtree(root / copy.name / "case", ignore_errors=True)
        case = views.build(read_in([root / copy.name / "logs"], root / copy.name / "case").case, engine())
        for view in VIEWS:
            copy.rows[view] = ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()


def _spans(row: Row) -> tuple[datetime | None, datetime | None, datetime | None, datetime | None]:
    start_lo, start_hi, stop_lo, stop_hi = (
        None if row[bound] is None else datetime.fromtimestamp(row[bound] / 1000, UTC)  # type: ignore[operator]
        for bound in ("start_lo_ms", "start_hi_ms", "stop_lo_ms", "stop_hi_ms")
    )
    return start_lo, start_hi, stop_lo, stop_hi


def _key(row: Row) -> tuple[str, str, str]:
    return str(row["process_id"]), str(row["resource_kind"]), str(row["resource"])


def _touch(low: datetime | None, high: datetime | None, other_low: datetime | None, other_high: datetime | None) -> bool:
    """Return True if two spans overlap; None is open."""
    return (low is None or other_high is None or low <= other_high + SLACK) and (high is None or other_low is None or other_low <= high + SLACK)


def uncertain(whole: Copy, thinned: Copy) -> list[str]:
    """Ownerships that the thinned logs call certain at a time at which the whole logs say that there was none."""
    possible: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in whole.rows["holding"]:
        possible[_key(row)].append(row)
    found = []
    for row in thinned.rows["holding"]:
        _, start, stop, _ = _spans(row)
        if start is None or stop is None or stop <= start + SLACK:
            continue
        at = start
        for other in sorted(possible[_key(row)], key=lambda r: (_spans(r)[0] is not None, str(_spans(r)[0]))):
            low, _, _, high = _spans(other)
            if (low is None or low <= at + SLACK) and (high is None or high > at):
                at = stop if high is None else max(at, high)
        if at + SLACK < stop:
            found.append(f"{' '.join(_key(row))} surely owned {start:%H:%M:%S.%f} to {stop:%H:%M:%S.%f}, which is not so from {at:%H:%M:%S.%f} on")
    return found


def late_starts(whole: Copy, thinned: Copy) -> list[str]:
    """Ownerships that the thinned logs say did not begin before a time at which the whole logs show them."""
    found = []
    for row in thinned.rows["holding"]:
        low, at, _, _ = _spans(row)
        if low is None or at is None or row["start_how"] == "seen":
            continue
        for other in whole.rows["holding"]:
            _, start, _, high = _spans(other)
            same = _key(other) == _key(row) and start is not None and start <= at + SLACK and (high is None or high >= at)
            if same and start is not None and start + SLACK < low:
                found.append(f"{' '.join(_key(row))} not owned before {low:%H:%M:%S.%f}, though it was from {start:%H:%M:%S.%f} on")
    return found


def reversed_verdicts(whole: Copy, thinned: Copy) -> list[str]:
    """Verdicts of the thinned logs that the whole logs do not bear out: a proof that they do not give, or the contrary of theirs."""
    mine, theirs = thinned.holdings(), whole.holdings()
    pairs: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in whole.rows["split_brain"]:
        pairs[row["resource_kind"], row["resource"], *sorted((str(row["process_a"]), str(row["process_b"])))].append(row)
    found = []
    for row in thinned.rows["split_brain"]:
        if row["verdict"] == "undecided":
            continue
        key = (row["resource_kind"], row["resource"], *sorted((str(row["process_a"]), str(row["process_b"]))))
        own = [mine[str(row[side])] for side in ("ownership_a", "ownership_b")]
        others = [(other, [theirs[str(other[side])] for side in ("ownership_a", "ownership_b")]) for other in pairs[key]]
        what = f"{row['resource_kind']} {row['resource']} in {row['process_a']} and {row['process_b']} from {row['from_hi'] or row['from_lo']}"
        if row["verdict"] == "proved":
            if not any(other["verdict"] == "proved" and _alike(own, pair, _certainly) for other, pair in others):
                found.append(f"proved only without the lines: {row['kind']} of {what}, {row['certain_ms']} ms")
        elif any(other["verdict"] == "proved" and _alike(own, pair, _same_start) for other, pair in others):
            found.append(f"refuted, though proved with the lines: {what}")
        elif all(other["verdict"] == "undecided" for other, pair in others if _alike(own, pair, _same_start)) and any(
            _alike(own, pair, _same_start) for _, pair in others
        ):
            found.append(f"refuted only without the lines: {what}")
    return found


def _certainly(row: Row, other: Row) -> bool:
    return _touch(*_spans(row)[1:3], _spans(other)[0], _spans(other)[3])


def _same_start(row: Row, other: Row) -> bool:
    return (
        _spans(row)[0] is not None
        and _spans(row)[0] == _spans(other)[0]
        or row["first_sign_ms"] is not None
        and row["first_sign_ms"] == other["first_sign_ms"]
    )


def _alike(own: list[Row], pair: list[Row], same: Callable[[Row, Row], bool]) -> bool:
    return any(_key(a) == _key(c) and _key(b) == _key(d) and same(a, c) and same(b, d) for a, b in (own, own[::-1]) for c, d in (pair,))


def truth_says(recording: Recording, copy: Copy) -> tuple[list[str], Score]:
    """Return contradictions between the ground truth and the rows of a copy, and the share of ownership samples that are known for certain."""
    clock = Clock(recording, copy.rows["process"])
    verdicts = score_split_brain(recording, copy.rows["split_brain"], copy.rows["ownership"], clock)
    score = score_ownership(recording, copy.rows["ownership"], clock) if recording.knows_tasks else Score()
    # Bounds may become wide, and what left no line has no row; but what is certain must be so.
    wrong = [f"ownership: {w}" for w in score.wrong if w.split(", ")[-1].startswith("owned")]
    return [*(f"false proved: {x}" for x in verdicts.false_proved), *(f"false refuted: {x}" for x in verdicts.false_refuted), *wrong], score


def judge(recording: Recording, copies: Sequence[Copy]) -> dict[str, list[str]]:
    """Faults by copy: against the whole logs, and against the truth where the whole logs have no such fault."""
    whole = copies[0]
    known = truth_says(recording, whole)[0]
    found = {}
    for copy in copies:
        faults, score = truth_says(recording, copy)
        faults = [fault for fault in faults if fault not in known or copy is whole]
        if copy is not whole:
            faults += uncertain(whole, copy) + late_starts(whole, copy) + reversed_verdicts(whole, copy)
        said = Counter(str(row["verdict"]) for row in copy.rows["split_brain"])
        share = f"{score.percent:.1f} %" if score.percent is not None else "-"
        found[f"{copy.name} {copy.how or 'whole':8s} ownership {share:8s} {dict(sorted(said.items()))}"] = faults
    return found


def thin(recording: Recording, root: Path, ways: Sequence[str], seed: int = 1) -> Thinned:
    """Thin a recording's logs in several ways, and compare the results.

    Args:
        recording: the recording.
        root: a folder for the logs and the cases.
        ways: names of `WAYS`, or of `OF_ONE`.
        seed: of the random choices.
    """
    whole, *_ = copies = write_copies(recording.logs, root, ways, seed)
    read_copies(copies, root)
    result = Thinned(recording.name)
    known = truth_says(recording, whole)[0]
    for copy in copies:
        faults, score = truth_says(recording, copy)
        # Errors in the results of the complete logs are in the table of complete logs.
        faults = [fault for fault in faults if fault not in known]
        if copy is not whole:
            faults += uncertain(whole, copy) + late_starts(whole, copy) + reversed_verdicts(whole, copy)
        result.shares[copy.how] = score.percent
        result.proved[copy.how] = sum(row["verdict"] == "proved" for row in copy.rows["split_brain"])
        result.faults += [f"{copy.how or 'whole'}: {fault}" for fault in faults]
    return result


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="directory that holds recordings")
    parser.add_argument("names", nargs="*", help="only recordings whose name contains one of these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--copies", type=int, default=1, help="copies for each way")
    parser.add_argument("--how", nargs="*", choices=sorted(WAYS | OF_ONE), default=list(WAYS))
    parser.add_argument("--out", type=Path, required=True, help="folder for logs and cases")
    args = parser.parse_args()
    wrong = 0
    for recording in recordings(args.recordings, args.names):
        root = args.out / recording.name
        shutil.rmtree(root, ignore_errors=True)
        copies = write_copies(recording.logs, root, [how for how in args.how for _ in range(args.copies)], args.seed)
        read_copies(copies, root)
        sys.stdout.write(f"{recording.name}\n")
        for title, faults in judge(recording, copies).items():
            sys.stdout.write(f"  {title}\n" + "".join(f"    {fault}\n" for fault in faults))
            wrong += len(faults)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
