# SPDX-License-Identifier: Apache-2.0
"""The section of `docs/accuracy.md` on which records were processed twice or never, by recording with a dump of commits.

`python tests/recordings/handovers.py RECORDINGS --cases DIR --write docs/accuracy.md` makes cases of the logs and of what was saved beside them, keeps the figures in
`handovers.toml`, and writes them into the page.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
from posted import write_section
from reasoning import Agreement, owners, score_commits, score_handovers, score_ledger, score_moves
from scoring import Clock, Row
from truth import Recording, recordings

from forensics.case import folder as case_folder

FIGURES = Path(__file__).with_name("handovers.toml")
TITLE = "## Records processed twice or never"
#: The kinds of claims.
KINDS = {"again": "read again", "read": "read twice", "skipped": "not committed", "moved": "who moved it"}


def handover_lines() -> list[str]:
    """Return the section, from the figures that were kept."""
    figures = tomllib.loads(FIGURES.read_text(encoding="utf-8"))["recording"]
    lines = [
        TITLE,
        "",
        "Recordings whose dump of `__consumer_offsets` has commits, with the dump and the other snapshots beside all logs. The consumers recorded which offsets they",
        "read and committed. For each time that a consumer starts to read a partition, three ranges are compared with these records: *read again*, the records that",
        "the group had committed before (`duplicate_ledger.committed_again_lo` and `_hi`); *read twice*, those that the previous reader had read, committed or not",
        "(`records_lo` and `_hi`); *not committed*, those before the start that nobody had committed (`skip_ledger`). A range is exact if its bounds are equal, else",
        "bounded; it is false if the true number is outside. *Who moved it*: what had set the place of the start, if that was not the last commit of a member",
        "(`skip_ledger.moved_by`), compared with what was done to the group's offsets; bounded if the view does not show it. *Commits*: how many of the commits that a consumer recorded the view `offset_commit` attributes to it.",
        "It attributes none to another consumer. KIP-848 groups store no generations with their members, so their commits have no member.",
        "",
        "| recording | commits | " + " | ".join(f"{kind}: exact | bounded | false" for kind in KINDS.values()) + " |",
        "|" + "---|" * (2 + 3 * len(KINDS)),
    ]
    totals = dict.fromkeys((f"{kind}_{what}" for kind in KINDS for what in ("exact", "bounded", "false")), 0)
    for it in figures:
        lines.append(f"| {it['name']} | {it['commits']} of {it['commits_of']} | " + " | ".join(str(it[name]) for name in totals) + " |")
        for name in totals:
            totals[name] += it[name]
    found, of = (sum(it[name] for it in figures) for name in ("commits", "commits_of"))
    lines.append(f"| all | {found} of {of} | " + " | ".join(str(number) for number in totals.values()) + " |")
    return [*lines, ""]


def figures_of(name: str, recall: Agreement, claims: dict[str, Agreement]) -> dict[str, object]:
    """Return the figures of one recording."""
    found: dict[str, object] = {"name": name, "commits": recall.right, "commits_of": recall.total}
    for kind, claim in claims.items():
        found |= {f"{kind}_exact": claim.exact, f"{kind}_bounded": claim.right - claim.exact, f"{kind}_false": len(claim.wrong)}
    return found


def measure_one(recording: Recording, rows: Callable[[str], list[Row]]) -> tuple[dict[str, object], list[str]] | None:
    """Return the figures of one recording, and a sentence for each false claim; None if no dump has commits."""
    commits = rows("offset_commit")
    if not commits or not recording.callbacks:
        return None
    clock, twice = Clock(recording, rows("process")), rows("duplicate_ledger")
    precision, recall = score_commits(recording, commits, owners(recording, rows("member")))
    starts = rows("skip_ledger")
    again, skipped = score_handovers(recording, twice, starts, clock)
    claims = {"again": again, "read": score_ledger(recording, twice, clock), "skipped": skipped, "moved": score_moves(recording, starts, clock)}
    wrong = [f"{recording.name}: {KINDS[kind]}: {x}" for kind, claim in claims.items() for x in claim.wrong]
    return figures_of(recording.name, recall, claims), wrong + [f"{recording.name}: commit of another: {x}" for x in precision.wrong]


def measure(root: Path, cases: Path, names: list[str]) -> tuple[list[dict[str, object]], list[str]]:
    """Return the figures of each recording whose dump has commits, and the false claims."""
    from score import read_all  # noqa: PLC0415  (`accuracy`, which it imports, imports this module)

    found, wrong = [], []
    for recording in recordings(root, names):
        if not recording.callbacks or not list((recording.path / "witness").glob("dump-offsets-*.txt")):
            continue
        case = cases / recording.name
        one = measure_one(recording, _stored(case) if (case / "case.json").is_file() else read_all(recording, case))
        if one:
            found.append(one[0])
            wrong += one[1]
    return found, wrong


def _stored(case: Path) -> Callable[[str], list[Row]]:
    return lambda view: ds.dataset(case_folder.open_case(case).view_path(view), format="parquet").to_table().to_pylist()


def main() -> int:
    """Run the command; return its exit code: 1 if a claim is false."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="directory that holds recordings")
    parser.add_argument("names", nargs="*", help="only recordings whose name contains one of these; then the figures are not kept")
    parser.add_argument("--cases", type=Path, required=True, help="keep the cases here, and use those that are there already")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the section into this page")
    args = parser.parse_args()
    figures, wrong = measure(args.recordings, args.cases, args.names)
    if args.names:
        sys.stdout.write("".join(f"{it}\n" for it in (*figures, *wrong)))
        return 1 if wrong else 0
    blocks = (
        "[[recording]]\n" + "".join(f"{k} = {v if isinstance(v, int) else chr(34) + str(v) + chr(34)}\n" for k, v in it.items()) for it in figures
    )
    FIGURES.write_text("# Written by handovers.py; do not edit by hand.\n" + "\n".join(blocks), encoding="utf-8")
    sys.stdout.write("\n".join([*handover_lines(), *wrong, ""]))
    if args.write:
        write_section(args.write, TITLE, handover_lines())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
