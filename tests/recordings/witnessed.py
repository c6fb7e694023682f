# SPDX-License-Identifier: Apache-2.0
"""The section of `docs/accuracy.md` on witnesses of the machine, by scenario.

`python tests/recordings/witnessed.py RECORDINGS --cases DIR --write docs/accuracy.md` scores the recordings of `lab/machine.py` with and without what the machine
and the platform say, and with and without the brokers' logs, keeps the figures in `witnessed.toml`, and writes them into the page.

The causes are computed again from the other views of the same case, with and without the witnesses that they read. The end of a container also bounds owners,
which stay as they are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
from causes import Causes, score_causes
from posted import write_section
from scoring import Clock, Row
from truth import Recording, recordings

from forensics.case import folder, materialise
from forensics.case.view_files import thresholds
from forensics.relations.inputs import Inputs

FIGURES = Path(__file__).with_name("witnessed.toml")
TITLE = "## With witnesses of the machine"
#: Which hosts' logs are left out, by the name of the way in the figures, and whether witnesses are.
WAYS = {"all": (None, True), "without_witnesses": (None, False), "without_brokers": ("broker", True), "without_both": ("broker", False)}
#: Figures of a scenario that are added up over its recordings, for each way.
COUNTED = ("runs", "causes", "causes_open", "causes_of", "witnessed", "witnessed_of", "false_causes", "false_verdicts")
Block = dict[str, object]


def witnessed_lines() -> list[str]:
    """Return the section, from the figures that were kept."""
    figures = tomllib.loads(FIGURES.read_text(encoding="utf-8"))["scenario"]
    releases = sorted({release for it in figures for release in it["releases"]}, key=lambda v: [int(n) for n in v.split(".")])
    lines = [
        TITLE,
        "",
        f"{sum(it['all']['runs'] for it in figures)} runs over Kafka {', '.join(releases)} in which something outside Kafka stopped, killed or restarted a process (`lab/machine.py`), with what the",
        "machine says of it beside the logs: GC logs of all processes, lines of the kernel and of systemd, objects and events of Kubernetes, containers of Docker.",
        "The GC logs and the kernel's lines are real; the others have the form that the platform prints, made from the true times. *Causes* is as above. *Named*",
        "counts the faults for which the incident also says what the witness shows: a collection, a collection that waited for its host, no collection, lack of memory, a",
        "signal, a probe, the platform. A wrong one counts as a false cause. Without the brokers' logs, the runs of one release were compared.",
        "",
        "Of the witnesses, only the end of a container affects verdicts. "
        f"{sum(it['all']['false_verdicts'] for it in figures)} verdicts contradict the sampler. It can be late, because the",
        "machine that records has two cores and was overloaded: compare the lines of the task's own thread.",
        "",
    ]
    for title, given, withheld in (("With all logs", "all", "without_witnesses"), ("Without the brokers' logs", "without_brokers", "without_both")):
        head = ("scenario", "runs", "causes", "left open", "named", "false", "without witnesses: causes", "left open", "false")
        lines += [f"### {title}", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        total: dict[str, Counter[str]] = {given: Counter(), withheld: Counter()}
        for it in figures:
            for way, sums in total.items():
                sums.update(it[way])
            lines += [_row(f"`{it['name']}`", it[given], it[withheld])] if it[given]["runs"] else []
        lines += [_row("all", *total.values()), ""]
    return lines


def _row(name: str, given: Block, withheld: Block) -> str:
    cells = [
        *(
            name,
            given["runs"],
            f"{given['causes']} of {given['causes_of']}",
            given["causes_open"],
            f"{given['witnessed']} of {given['witnessed_of']}",
        ),
        *(given["false_causes"], f"{withheld['causes']} of {withheld['causes_of']}", withheld["causes_open"], withheld["false_causes"]),
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def measure(root: Path, cases: Path, names: list[str], release: str) -> list[Block]:
    """Return the figures of each scenario that leaves witnesses, in the order of their names, and print what needs a person's attention.

    Args:
        root: the directory of recordings.
        cases: a case of each recording is made, or found, here.
        names: only recordings whose name contains one of these; all if there are none.
        release: the recordings that are also compared without the logs of brokers.
    """
    found: dict[str, list[dict[str, Counter[str]]]] = defaultdict(list)
    releases: dict[str, set[str]] = defaultdict(set)
    for recording in recordings(root, names):
        if recording.witnesses:
            ways = [way for way, (withhold, _) in WAYS.items() if withhold is None or recording.version == release]
            found[recording.scenario].append({way: _of(recording, cases, way) for way in ways})
            releases[recording.scenario].add(recording.version)
    return [
        {"name": name, "releases": sorted(releases[name])}
        | {way: {key: sum(run[way][key] for run in runs if way in run) for key in COUNTED} for way in WAYS}
        for name, runs in sorted(found.items())
    ]


def _of(recording: Recording, cases: Path, way: str) -> Counter[str]:
    from score import score  # noqa: PLC0415  (`accuracy`, which it imports, imports this module)

    withhold, witnesses = WAYS[way]
    case = cases / f"{recording.name}-{'all' if withhold is None else 'without_brokers'}"
    it = score(recording, case, withhold)
    causes = causes_again(recording, case, it.withheld, witnesses=witnesses)
    values = (1, causes.right, causes.open, causes.total, causes.witnessed, causes.witnesses, len(causes.false), len(it.false_verdicts))
    figures = Counter(dict(zip(COUNTED, values, strict=True)))
    said = [*it.false_verdicts, *(f"false cause: {x}" for x in causes.false), *(f"missed cause: {x}" for x in causes.missed)]
    print(f"{recording.name} {way}: {dict(figures)}", *said, sep="\n  ", flush=True)
    return figures


def causes_again(recording: Recording, path: Path, withheld: list[str], *, witnesses: bool) -> Causes:
    """Compute the causes of a case again and compare them with the truth.

    Args:
        recording: of which the case is.
        path: the case.
        withheld: hosts whose logs it lacks.
        witnesses: False to compute them as if there were no witness.
    """
    case, known = folder.open_case(path), materialise.views()
    again = {"root_cause"}
    order = list(TopologicalSorter({name: [r for r in view.reads if r in known] for name, view in known.items()}).static_order())
    for name in order:
        if again & {*known[name].reads}:
            again.add(name)
    with tempfile.TemporaryDirectory() as scratch:

        def parts(name: str) -> list[ds.Dataset]:
            if name == "machine_event" and not witnesses:
                return []
            if name in again:
                return [ds.dataset(Path(scratch) / name, format="parquet")]
            paths = case.tables().get(name) or [path for path in [case.view_path(name)] if path is not None]
            return [ds.dataset(path, format="parquet") for path in paths]

        inputs = Inputs(parts, thresholds())
        for name in order:
            if name in again:
                (Path(scratch) / name).mkdir()
                pq.write_table(materialise.computed(known[name], inputs), Path(scratch) / name / "rows.parquet")
        incidents: list[Row] = ds.dataset(Path(scratch) / "incident", format="parquet").to_table().to_pylist()
    processes: list[Row] = ds.dataset(case.view_path("process"), format="parquet").to_table().to_pylist()
    return score_causes(recording, incidents, Clock(recording, processes), processes, withheld)


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="directory that holds recordings")
    parser.add_argument("names", nargs="*", help="only recordings whose name contains one of these; then the figures are not kept")
    parser.add_argument("--cases", type=Path, required=True, help="keep the cases here, and use those that are there already")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the section into this page")
    parser.add_argument(
        "--without-brokers", default="3.9.1", metavar="RELEASE", help="also compare the recordings of this release without the brokers' logs"
    )
    args = parser.parse_args()
    figures = measure(args.recordings, args.cases, args.names, args.without_brokers)
    if args.names:
        return 0
    FIGURES.write_text("# Written by witnessed.py; do not edit by hand.\n" + "\n".join(_block(it) for it in figures), encoding="utf-8")
    if args.write:
        write_section(args.write, TITLE, witnessed_lines())
    return 0


def _block(it: Block) -> str:
    lines = ["[[scenario]]", f'name = "{it["name"]}"', f"releases = {it['releases']}".replace("'", '"')]
    for way in WAYS:
        figures = it[way]
        assert isinstance(figures, dict)
        lines.append(f"{way} = {{ {', '.join(f'{key} = {value}' for key, value in figures.items())} }}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
