"""Cut recorded logs down to a sample: leave out only whole records that have nothing to do with groups.

    python scripts/cut_sample.py RECORDING/logs sample_logs/NAME/logs

These are the scan for plugins, printed configurations of connectors, converters and admin clients, and the closing of metric reporters. They contain
no event of a group. A record is removed with its continuation lines; the other lines are not changed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LEFT_OUT = re.compile(
    r"""
      \(org\.apache\.kafka\.connect\.runtime\.isolation\.            # "Loading plugin", "Added plugin", "Added alias"
    | \(org\.apache\.kafka\.common\.metrics\.Metrics                 # "Metrics scheduler closed"
    | \(org\.reflections\.
    | (?:Json|String|Byte\w*)ConverterConfig\ values:
    | \ (?:Enriched)?(?:Connector|SinkConnector|SourceConnector|Task)Config\ values:
    | \ AdminClientConfig\ values:
    """,
    re.VERBOSE,
)
RECORD = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ")


def cut(lines: list[str]) -> list[str]:
    """Return the lines that stay, including lines before the first record."""
    kept, keep = [], True
    for line in lines:
        if RECORD.match(line):
            keep = not LEFT_OUT.search(line)
        if keep:
            kept.append(line)
    return kept


def main(source: Path, target: Path) -> None:
    """Cut every `*.log` below `source` into the same path below `target`."""
    for path in sorted(source.rglob("*.log")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = cut(lines)
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("".join(kept), encoding="utf-8")
        print(f"{to}: {len(kept)} of {len(lines)} lines, {to.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
