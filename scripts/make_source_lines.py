# SPDX-License-Identifier: Apache-2.0
"""Write `parsers/source_lines.csv` from tables of Kafka's log statements: which releases print from which line of which class.

    python scripts/make_source_lines.py FACTS_DIR

With it, a layout with %L shows the release. One row for each logger: its simple name, and `line:releases` for each line at INFO and above.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "statements")]

from facts import PRINTED_BY, version_key  # noqa: E402

from forensics.catalogue.patterns import load, simple_name  # noqa: E402
from forensics.catalogue.recogniser import Recogniser  # noqa: E402

#: In these releases, all clients print the line of their logging wrapper, not that of the statement.
WRONG_LINES = ("1.0.0", "1.0.1", "1.0.2")
CLIENT_SIDE = "org.apache.kafka.clients."


def statements(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Yield class, line and release of each statement."""
    with (folder / "fingerprints.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for release in (row["tags"] or "").split():
                if release[0].isdigit() and "-" not in release:
                    yield row["class_fqcn"], int(row["line"]), release
    with (folder / "templates_3.9_to_4.3.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["level"] in ("info", "warn", "error") and row["line"].isdigit():
                yield row["class_fqcn"], int(row["line"]), row["release"]


def runs(found: Iterable[str], known: list[str]) -> str:
    """Return releases as ranges over the known ones: `2.3.0..2.3.1 2.5.0`."""
    places = sorted(known.index(r) for r in found)
    parts: list[list[int]] = []
    for place in places:
        if parts and place == parts[-1][-1] + 1:
            parts[-1].append(place)
        else:
            parts.append([place])
    return " ".join(known[p[0]] if len(p) == 1 else f"{known[p[0]]}..{known[p[-1]]}" for p in parts)


def main() -> None:
    """Write the table."""
    loggers = Recogniser(load()).interesting_loggers
    lines: dict[str, dict[int, set[str]]] = {}
    releases: set[str] = set()
    for owner, line, release in statements(Path(sys.argv[1])):
        releases.add(release)
        if owner.startswith(CLIENT_SIDE) and release in WRONG_LINES:
            continue
        outer = simple_name(owner.partition("$")[0])
        for name in {outer, *map(simple_name, PRINTED_BY.get(outer, ()))}:
            if name in loggers:
                lines.setdefault(name, {}).setdefault(line, set()).add(release)
    known = sorted(releases, key=version_key)
    with (ROOT / "parsers" / "source_lines.csv").open("w", encoding="utf-8", newline="") as file:
        file.write("# Releases: " + " ".join(known) + "\n")
        for name in sorted(lines):
            file.write(name + "," + ",".join(f"{line}:{runs(found, known)}" for line, found in sorted(lines[name].items())) + "\n")


if __name__ == "__main__":
    main()
