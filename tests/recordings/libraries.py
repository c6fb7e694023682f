# SPDX-License-Identifier: Apache-2.0
"""The section of `docs/accuracy.md` on client libraries other than Java's, by library.

`python tests/recordings/libraries.py RECORDINGS --cases DIR --write docs/accuracy.md` scores the recordings of `lab` scenarios that begin with the name of a
library, keeps the figures in `libraries.toml`, and writes them into the page.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

from posted import write_section
from truth import recordings

FIGURES = Path(__file__).with_name("libraries.toml")
TITLE = "## Client libraries other than Java's"
#: Figures of a library that are added up over its recordings.
COUNTED = (
    *("runs", "generations", "generations_of", "points", "points_of", "points_unknowable", "overlaps", "overlaps_missed"),
    *("causes", "causes_open", "causes_of", "false_verdicts", "false_causes"),
)


def library_lines() -> list[str]:
    """Return the section, from the figures that were kept."""
    figures = tomllib.loads(FIGURES.read_text(encoding="utf-8"))["library"]
    lines = [
        TITLE,
        "",
        "Consumers of these libraries (`lab/apps`) join one after another; one is frozen past its session timeout, one is killed and comes back, one works for",
        "longer than its poll interval, the broker restarts, and two processes have one static id. Each logs as its library does by default. The consumers record",
        "what they are given and lose. *Partitions* compares sampled points (time, consumer, partition) with the view `ownership`; a point inside bounds wider than",
        "2 s counts as wrong, and nothing is expected of frozen or dead processes. librdkafka prints no assignments without `debug=cgrp`. kafka-go's reader has no",
        "callback for them, so there is no ground truth. All logs were given, also the broker's.",
        "",
        "| library | recordings | generations | partitions | true overlaps missed | causes found | left open | false verdicts | false causes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for it in figures:
        share = f"{100 * it['points'] / it['points_of']:.1f} %" if it["points_of"] else "-"
        lines.append(
            f"| {it['name'].replace('_', '-')} | {it['runs']} | {it['generations']} of {it['generations_of']} | {share} "
            f"| {it['overlaps_missed']} of {it['overlaps']} | {it['causes']} of {it['causes_of']} | {it['causes_open']} | {it['false_verdicts']} "
            f"| {it['false_causes']} |"
        )
    return [*lines, ""]


def measure(root: Path, cases: Path) -> list[dict[str, object]]:
    """Return the figures of each library, in the order of the laboratory."""
    from score import score  # noqa: PLC0415  (`accuracy`, which it imports, imports this module)

    from lab.clients import LIBRARIES  # noqa: PLC0415

    found: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(COUNTED, 0))
    for recording in recordings(root):
        library = next((d["library"] for d in recording.deeds if d.get("library")), None)
        if library is None:
            continue
        it, add = score(recording, cases / recording.name), found[library]
        figures = (
            *(1, it.generations.right, it.generations.total, it.holdings.right, it.holdings.total, it.holdings.unknowable),
            *(it.verdicts.true_overlaps, len(it.verdicts.missed), it.causes.right, it.causes.open, it.causes.total),
            *(len(it.false_verdicts), len(it.causes.false)),
        )
        for name, figure in zip(COUNTED, figures, strict=True):
            add[name] += figure
    return [{"name": name, **found[name]} for name in LIBRARIES if name in found]


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="directory that holds recordings")
    parser.add_argument("--cases", type=Path, required=True, help="keep the cases here, and use those that are there already")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the section into this page")
    args = parser.parse_args()
    blocks = (
        "[[library]]\n" + "".join(f"{key} = {value if isinstance(value, int) else chr(34) + str(value) + chr(34)}\n" for key, value in it.items())
        for it in measure(args.recordings, args.cases)
    )
    FIGURES.write_text("# Written by libraries.py; do not edit by hand.\n" + "\n".join(blocks), encoding="utf-8")
    if args.write:
        write_section(args.write, TITLE, library_lines())
    return 0


if __name__ == "__main__":
    sys.exit(main())
