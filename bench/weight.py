"""Measure the size of the SQL, and hold it against the recorded size.

    python bench/weight.py [--plans FOLDER]

Prints code tokens (without comments and COMMENT texts), JOINs, the longest chain of views that read each other, the most common table expressions in one file
and the operators that Spark plans for a first report on the small sample. They are counted in Spark's event log: in FOLDER, or in that of an ingest that this
starts. The exit code is 1 if a figure is more than 1 % above the last entry of `bench/weight.toml`. A figure may rise if the same commit adds an entry that
gives the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import TokenType

from forensics.case.view_files import views
from forensics.resources import sql_dir

RECORDED = Path(__file__).with_name("weight.toml")
SAMPLE = Path(__file__).parent.parent / "sample_logs" / "split-brain-frozen-worker-3.9.1"
#: A figure that is higher than this multiple of the recorded one has risen.
TOLERANCE = 1.01


@dataclass(frozen=True)
class Weight:
    """The size of all SQL files.

    Attributes:
        tokens: code tokens.
        joins: JOIN keywords.
        chain: number of views in the longest chain in which each reads the previous one.
        ctes: number of common table expressions in the file that has most.
        operators: operators in Spark's plans of a first report on the small sample; None: not counted.
    """

    tokens: int
    joins: int
    chain: int
    ctes: int
    operators: int | None = None


def weight(operators: int | None = None) -> Weight:
    """Measure the SQL files of this checkout."""
    files = [_code(path) for path in sorted(Path(str(sql_dir())).rglob("*.sql"))]
    known = views()
    depth: dict[str, int] = {}
    for name, view in known.items():
        depth[name] = 1 + max((depth[read] for read in view.reads if read in depth), default=0)
    return Weight(
        tokens=sum(len(tokens) for tokens in files),
        joins=sum(token.token_type is TokenType.JOIN for tokens in files for token in tokens),
        chain=max(depth.values()),
        ctes=max(_ctes(tokens) for tokens in files),
        operators=operators,
    )


def _code(path: Path) -> list[Any]:
    """Return the tokens of a file without `COMMENT 'text'`; the tokenizer leaves comments out."""
    tokens = sqlglot.tokenize(path.read_text(encoding="utf-8"), read="spark")
    texts = {n + 1 for n, token in enumerate(tokens) if token.token_type is TokenType.COMMENT}
    return [token for n, token in enumerate(tokens) if n not in texts and token.token_type is not TokenType.COMMENT]


def _ctes(tokens: list[Any]) -> int:
    """Return the number of common table expressions: `name AS (` before a query."""
    kinds = [token.token_type for token in tokens]
    return sum(
        kinds[n : n + 2] == [TokenType.ALIAS, TokenType.L_PAREN] and kinds[n + 2] in (TokenType.SELECT, TokenType.WITH) for n in range(len(kinds) - 2)
    )


def recorded(text: str | None = None) -> list[dict[str, Any]]:
    """Return the entries of `weight.toml`, the oldest first."""
    return tomllib.loads(RECORDED.read_text(encoding="utf-8") if text is None else text)["weight"]


def risen(now: Weight, then: dict[str, Any]) -> list[str]:
    """Return one sentence for each figure that is above a recorded one by more than the tolerance."""
    return [
        f"{name} rose from {then[name]:,} to {value:,}"
        for name, value in asdict(now).items()
        if value is not None and name in then and value > then[name] * TOLERANCE
    ]


def operators(events: Iterable[str]) -> int:
    """Count the operators in the plans of all queries of an event log; a part that is used again, and commands, are not counted."""
    return sum(
        1 for line in events if '"sparkPlanInfo"' in line for name in _nodes(json.loads(line)["sparkPlanInfo"]) if not name.startswith(_UNCOUNTED)
    )


_UNCOUNTED = ("ReusedExchange", "Execute ", "Create", "Set", "Scan OneRowRelation", "WholeStageCodegen", "InputAdapter")


def _nodes(plan: Mapping[str, Any]) -> Iterator[str]:
    yield plan["nodeName"].strip()
    for child in plan["children"]:
        yield from _nodes(child)


def planned(folder: Path) -> int:
    """Count the operators in all event logs of a folder.

    Raises:
        ValueError: it has none.
    """
    files = [file for file in sorted(folder.iterdir()) if file.is_file()]
    if not files:
        raise ValueError(f"{folder} has no event log of Spark")
    return sum(operators(file.read_text(encoding="utf-8").splitlines()) for file in files)


def logged(folder: Path) -> dict[str, str]:
    """Write Spark's settings for event logs in a folder; return the variables of a command that writes them to `folder/events`."""
    (folder / "events").mkdir()
    settings = {"enabled": "true", "dir": (folder / "events").as_uri(), "compress": "false", "rolling.enabled": "false"}
    text = "".join(f"spark.eventLog.{name} {value}\n" for name, value in settings.items())
    (folder / "spark-defaults.conf").write_text(text, encoding="utf-8")
    return {"SPARK_CONF_DIR": str(folder), "FORENSICS_ENGINE": "spark"}


def _planned_now() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "forensics", "ingest", "--case", str(folder / "case"), str(SAMPLE / "logs")]
        subprocess.run(command, env=os.environ | logged(folder), check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        return planned(folder / "events")


def main(arguments: list[str]) -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plans", type=Path, metavar="FOLDER", help="folder of Spark's event logs of a first report on the sample")
    parser.add_argument("--settings", type=Path, metavar="FOLDER", help="write Spark's settings for event logs to FOLDER, and stop")
    given = parser.parse_args(arguments)
    if given.settings:
        logged(given.settings)
        return 0
    now, last = weight(planned(given.plans) if given.plans else _planned_now()), recorded()[-1]
    for name, value in asdict(now).items():
        if value is not None:
            print(f"{name:10} {value:>9,}   recorded {last[name]:>9,}")
    faults = risen(now, last)
    for fault in faults:
        print(f"error: {fault}\n  help: make it smaller, or add an entry with the reason to bench/weight.toml", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
