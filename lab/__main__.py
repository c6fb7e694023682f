# SPDX-License-Identifier: Apache-2.0
"""Records one scenario on one release and scores the recording: `python -m lab 4.3.1 worker_frozen`."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from lab import clients, commits, machine  # noqa: F401  (their scenarios enter themselves)
from lab.cluster import RECORDING, Run
from lab.hosts import furnish, inside, missing
from lab.releases import Release, compile_apps, fetch
from lab.scenarios import SCENARIOS, Names, Scenario

#: A run that takes longer hangs.
LIMIT_S = 600
SCORE = Path(__file__).parent.parent / "tests" / "recordings" / "score.py"


def unmet(recording: Path, scenario: Scenario) -> list[str]:
    """List what the scenario should have left in a recording and did not."""
    lacks = []
    for glob, pattern in scenario.leaves:
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in recording.glob(glob)]
        if not any(re.search(pattern, text) for text in texts):
            lacks.append(f"{glob} has no line like {pattern}" if texts else f"{glob} is missing")
    return lacks


def record(release: Release, scenario: Scenario, seed: int) -> Path:
    """Play a scenario, inside its namespaces; return the finished recording.

    Raises:
        RuntimeError: it did not come to its end, or the fault did not happen; what there is of the recording is kept.
    """
    run, failure = Run(release, RECORDING), ""

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError(f"ended by signal {signal.Signals(number).name}; a run may take {LIMIT_S} s")

    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, give_up)
    signal.alarm(LIMIT_S)
    try:
        scenario.play(run, Names.of(seed))
        run.did("scenario ends")
        run.snapshots()
    except Exception as error:
        traceback.print_exc()
        failure = f"{type(error).__name__}: {error}"
        run.did("failed", error=failure)
    signal.alarm(0)
    run.finish()
    (RECORDING / "truth.json").write_text(json.dumps(run.truth(scenario.name, seed, scenario.notes), indent=1) + "\n", encoding="utf-8")
    lacks = [] if failure else unmet(RECORDING, scenario)
    if failure or lacks:
        raise RuntimeError(failure or f"the fault did not happen as meant: {'; '.join(lacks)}")
    return RECORDING


def keep(target: Path) -> None:
    """Copy what was recorded out of memory, in place of an earlier recording of the same name."""
    part = target.with_name(target.name + ".part")
    for old in (part, target):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(RECORDING, part, ignore=shutil.ignore_patterns("stdout") if target.parent.name != "failed" else None)
    part.rename(target)


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="lab", description=__doc__)
    parser.add_argument("release", help="a release of Kafka, like 4.3.1")
    parser.add_argument("scenario", choices=sorted(SCENARIOS), metavar="scenario", help=", ".join(SCENARIOS))
    parser.add_argument("--seed", type=int, default=0, help="another number changes names, sizes and victims")
    parser.add_argument("--out", type=Path, default=Path("recordings"), help="folder that gets RELEASE-SCENARIO-SEED/")
    parser.add_argument("--no-score", action="store_true", help="record only")
    parser.add_argument("--inside", nargs=3, type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    scenario, name = SCENARIOS[args.scenario], f"{args.release}-{args.scenario}-{args.seed}"
    try:
        release = Release.parse(args.release)
    except ValueError as error:
        parser.error(str(error))
    if release.numbers < scenario.since:
        parser.error(f"{scenario.name} needs Kafka {'.'.join(map(str, scenario.since))} or later")
    if args.inside:
        furnish(*args.inside)
        began = time.monotonic()
        try:
            record(release, scenario, args.seed)
        except RuntimeError as error:
            keep(args.out / "failed" / name)
            print(f"error: {name}: {error}; see {args.out / 'failed' / name}", file=sys.stderr)
            return 1
        keep(args.out / name)
        print(f"{args.out / name}: recorded in {time.monotonic() - began:.0f} s", flush=True)
        return 0
    if lacks := missing():
        print(f"error: the laboratory needs {', '.join(lacks)}", file=sys.stderr)
        return 2
    (args.out / "failed").mkdir(parents=True, exist_ok=True)
    os.nice(5)
    try:
        libs = fetch(release)
        apps = compile_apps(release, libs)
        client = clients.fetch(scenario.library) if scenario.library else apps
    except RuntimeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    code = inside([sys.executable, "-m", "lab", *sys.argv[1:], "--inside", str(libs), str(apps), str(client)])
    if code or args.no_score:
        return code
    return subprocess.run([sys.executable, str(SCORE), str(args.out), name], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
