"""Run the commands in pages of docs/, and write their output below them.

python scripts/make_answers.py         # or: make samples, which does it too

In a page, an answer may follow a block of commands:

    ```sh
    forensics report --case frozen
    ```

    <!-- answer: 12 lines from "SPLIT BRAIN" -->
    ```text
    output of the last command of the block: this many lines, from the first that contains these words; without them, from the first line to the last
    ```

Cases have the names that the pages use: those of the samples (`CASES`). A command without `--case` uses the first of them.
"""

from __future__ import annotations

import functools
import re
import shlex
import tempfile
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: Names of the samples' cases in pages.
CASES = {
    "frozen": "split-brain-frozen-worker-3.9.1",
    "timeouts": "session-timeouts-consumers-3.9.1",
    "partitioned": "split-brain-partitioned-worker-2.3.0",
    "fenced": "producer-fenced-4.3.1",
    "streams": "streams-frozen-4.3.1",
    "skewed": "rolling-bounce-skewed-clocks-3.9.1",
}
#: Pages whose commands are run.
PAGES = ("tutorial.md", "verdict.md", "report.md", "questions.md", "reasoning.md")
WIDTH = 100
_BLOCK = re.compile(r"^```sh\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_ANSWER = re.compile(
    r'\n<!-- answer(?:: (?P<lines>\d+) lines(?: from "(?P<start>[^"]+)")?)? -->\n```text\n(?P<text>.*?)^```\n', re.MULTILINE | re.DOTALL
)


def commands(block: str) -> list[list[str]]:
    """Return the arguments of each `forensics` command in a block."""
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("forensics ")]


def with_paths(arguments: list[str], cases: Mapping[str, Path]) -> list[str]:
    """Return a command's arguments with local paths of cases and files."""
    return [
        str(cases[word]) if word in cases else str(ROOT / word) if word.startswith(("sample_logs/", "tests/field/")) else word for word in arguments
    ]


@functools.cache
def _cache() -> tempfile.TemporaryDirectory[str]:
    """Return an empty folder for cached cases; it is deleted when the process ends."""
    return tempfile.TemporaryDirectory()


def run(arguments: list[str], cases: Mapping[str, Path]) -> tuple[int, str]:
    """Run a command in a folder of its own; return its exit code, and its output or the names of the files that it wrote."""
    from forensics.cli import app

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        # Cases of the user's own cache may have been read by earlier code.
        env = {"COLUMNS": str(WIDTH), "FORENSICS_CASE": str(cases["frozen"]), "FORENSICS_PAGER": "", "XDG_CACHE_HOME": _cache().name}
        result = CliRunner().invoke(app, with_paths(arguments, cases), env=env)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        printed = result.stdout
        for name, path in cases.items():
            printed = printed.replace(str(path), name)
        return result.exit_code, printed or "".join(f"{name}\n" for name in sorted(path.name for path in Path(folder).iterdir()))


def answered(page: str, cases: Mapping[str, Path]) -> str:
    """Return a page with the answers of its commands."""

    def after(block: re.Match[str]) -> str:
        answer = _ANSWER.match(page, block.end())
        if answer is None:
            return block[0]
        _, text = run(commands(block[1])[-1], cases)
        lines = [line.rstrip() for line in text.strip("\n").split("\n")]
        begin = next(i for i, line in enumerate(lines) if (answer["start"] or "") in line)
        shown = lines[begin : begin + int(answer["lines"])] if answer["lines"] else lines
        more = ["…"] if begin + len(shown) < len(lines) else []
        head = answer[0].split("```text\n")[0]
        return block[0] + head + "```text\n" + "\n".join([*shown, *more]) + "\n```\n"

    out, at = [], 0
    for block in _BLOCK.finditer(page):
        out += [page[at : block.start()], after(block)]
        answer = _ANSWER.match(page, block.end())
        at = answer.end() if answer else block.end()
    return "".join([*out, page[at:]])


def write(cases: Mapping[str, Path]) -> None:
    """Write the answers into all pages."""
    for name in PAGES:
        page = DOCS / name
        page.write_text(answered(page.read_text(encoding="utf-8"), cases), encoding="utf-8")
        print(page.relative_to(ROOT))


def main() -> None:
    """Read the samples and write the answers."""
    from expect_samples import case_of

    with tempfile.TemporaryDirectory() as folder:
        write({short: case_of(name, Path(folder) / short).root for short, name in CASES.items()})


if __name__ == "__main__":
    main()
