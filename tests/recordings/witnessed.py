# SPDX-License-Identifier: Apache-2.0
"""The section of `docs/accuracy.md` on witnesses of the machine, by scenario.

`python tests/recordings/witnessed.py RECORDINGS --cases DIR --write docs/accuracy.md` scores the recordings of `lab/machine.py` with and without what the machine
and the platform say, and with and without the brokers' logs, keeps the figures in `witnessed.toml`, and writes them into the page.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

from posted import section_in
from truth import Recording, recordings

FIGURES = Path(__file__).with_name("witnessed.toml")
TITLE = "## With witnesses of the machine"
#: What is left out, by its name in the figures.
WAYS = {"all": (None, True), "without_witnesses": (None, False), "without_brokers": ("broker", True), "without_both": ("broker", False)}
#: Figures of a scenario that are added up over its recordings, for each way.
COUNTED = ("causes", "causes_open", "causes_of", "witnessed", "witnessed_of", "false_causes", "false_verdicts", "verdicts_changed")
Block = dict[str, object]


def witnessed_lines() -> list[str]:
    """Return the section, from the figures that were kept."""
    figures = tomllib.loads(FIGURES.read_text(encoding="utf-8"))["scenario"]
    releases = sorted({release for it in figures for release in it["releases"]}, key=lambda v: [int(n) for n in v.split(".")])
    lines = [
        TITLE,
        "",
        f"{sum(it['runs'] for it in figures)} runs over Kafka {', '.join(releases)} in which something outside Kafka stopped, killed or restarted a process (`lab/machine.py`), with what the",
        "machine says of it beside the logs: GC logs of all processes, lines of the kernel and of systemd, objects and events of Kubernetes, containers of Docker.",
        "The GC logs and the kernel's lines are real; the others have the form that the platform prints, made from the true times. *Causes* is as above. *Named*",
        "counts the faults for which the incident also says what the witness shows: a collection, a collection that waited for its host, no collection, lack of memory, a",
        "signal, a probe, the platform. A wrong one counts as a false cause. *Verdicts changed* counts rows of `split_brain` that differ from those without witnesses.",
        "",
    ]
    for brokers, ways in (("With all logs", ("all", "without_witnesses")), ("Without the brokers' logs", ("without_brokers", "without_both"))):
        given, withheld = ways
        head = ("scenario", "runs", "causes", "left open", "named", "false", "causes without witnesses", "left open", "false", "verdicts changed")
        lines += [f"### {brokers}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        total: Counter[str] = Counter()
        for it in figures:
            total.update({f"{way}_{key}": it[way][key] for way in ways for key in COUNTED} | {"runs": it["runs"]})
            lines.append(_row(f"`{it['name']}`", it["runs"], it[given], it[withheld]))
        sums = [{key: total[f"{way}_{key}"] for key in COUNTED} for way in ways]
        lines += [_row("all", total["runs"], *sums), ""]
    return lines


def _row(name: str, runs: int, given: Block, withheld: Block) -> str:
    cells = [
        *(name, runs, f"{given['causes']} of {given['causes_of']}", given["causes_open"], f"{given['witnessed']} of {given['witnessed_of']}"),
        *(_false(given), f"{withheld['causes']} of {withheld['causes_of']}", withheld["causes_open"], _false(withheld), given["verdicts_changed"]),
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def _false(figures: Block) -> int:
    return int(str(figures["false_causes"])) + int(str(figures["false_verdicts"]))


def measure(root: Path, cases: Path, names: list[str]) -> list[Block]:
    """Return the figures of each scenario that leaves witnesses, in the order of their names, and print what needs a person's attention."""
    found: dict[str, list[dict[str, Counter[str]]]] = defaultdict(list)
    releases: dict[str, set[str]] = defaultdict(set)
    for recording in recordings(root, names):
        if not recording.witnesses:
            continue
        found[recording.scenario].append(_of(recording, cases))
        releases[recording.scenario].add(recording.version)
    return [
        {"name": name, "runs": len(runs), "releases": sorted(releases[name])}
        | {way: {key: sum(run[way][key] for run in runs) for key in COUNTED} for way in WAYS}
        for name, runs in sorted(found.items())
    ]


def _of(recording: Recording, cases: Path) -> dict[str, Counter[str]]:
    from score import read_views, score  # noqa: PLC0415  (`accuracy`, which it imports, imports this module)

    figures: dict[str, Counter[str]] = {}
    verdicts: dict[str, Counter[tuple[object, ...]]] = {}
    for way, (withhold, witnesses) in WAYS.items():
        case = cases / f"{recording.name}-{way}"
        it = score(recording, case, withhold, witnesses=witnesses)
        rows = read_views(case, [])["split_brain"]
        verdicts[way] = Counter((r["resource"], r["process_a"], r["process_b"], r["kind"], r["from_lo"], r["verdict"]) for r in rows)
        values = (
            *(it.causes.right, it.causes.open, it.causes.total, it.causes.witnessed, it.causes.witnesses),
            *(len(it.causes.false), len(it.false_verdicts), 0),
        )
        figures[way] = Counter(dict(zip(COUNTED, values, strict=True)))
        if not witnesses:
            given = "all" if withhold is None else "without_brokers"
            figures[given]["verdicts_changed"] = ((verdicts[given] - verdicts[way]) + (verdicts[way] - verdicts[given])).total()
        said = [*it.faults, *(f"missed cause: {x}" for x in it.causes.missed)]
        print(f"{recording.name} {way}: {dict(figures[way])}", *said, sep="\n  ", flush=True)
    return figures


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="directory that holds recordings")
    parser.add_argument("names", nargs="*", help="only recordings whose name contains one of these; then the figures are not kept")
    parser.add_argument("--cases", type=Path, required=True, help="keep the cases here, and use those that are there already")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the section into this page")
    args = parser.parse_args()
    figures = measure(args.recordings, args.cases, args.names)
    if args.names:
        return 0
    FIGURES.write_text("# Written by witnessed.py; do not edit by hand.\n" + "\n".join(_block(it) for it in figures), encoding="utf-8")
    if args.write:
        args.write.write_text(section_in(args.write.read_text(encoding="utf-8"), TITLE, witnessed_lines()), encoding="utf-8")
    return 0


def _block(it: Block) -> str:
    lines = ["[[scenario]]", f'name = "{it["name"]}"', f"runs = {it['runs']}", f"releases = {it['releases']}".replace("'", '"')]
    for way in WAYS:
        figures = it[way]
        assert isinstance(figures, dict)
        lines.append(f"{way} = {{ {', '.join(f'{key} = {value}' for key, value in figures.items())} }}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
