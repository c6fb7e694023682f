"""Write the expected results of the samples, `sample_logs/*/expected/*.json`; the report in the README; the outputs of docs/notebook.ipynb; and the
answers in pages of docs/.

Read the difference before you commit it.

python scripts/expect_samples.py [NAME...]        # or: make samples
"""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import make_answers
import make_notebook

from forensics.case.ingestion import ingest
from forensics.case.views import build
from forensics.engines import engine
from forensics.report import content, localize, reading, selection, text
from forensics.report.names import Names
from forensics.wording.formats import iso

if TYPE_CHECKING:
    from forensics.case.folder import Case

SAMPLES = Path(__file__).resolve().parent.parent / "sample_logs"
#: The sample whose report is in the README.
SHOWN = "split-brain-frozen-worker-3.9.1"
#: Columns with the facts of an incident. Other tests cover IDs and explanations.
COLUMNS = {
    "generation": (
        "group_id", "incarnation", "incarnation_why", "generation", "protocol_type", "rebalance_mode", "prepared_ts", "stabilized_ts",
        "assigned_ts", "member_count", "trigger", "leader_member_id",
    ),
    "split_brain": (
        "group_id", "resource_kind", "resource", "process_a", "process_b", "kind", "verdict", "from_lo", "from_hi", "to_lo", "to_hi",
        "certain_ms", "possible_ms", "cause",
    ),
    "finding": ("rule", "severity", "verdict", "group_id", "subject", "from_ts", "to_ts", "headline"),
    "incident": (
        "cause", "alternatives", "group_ids", "subject", "from_lo", "from_hi", "to_lo", "to_hi", "severity", "times", "resources_hit",
        "longest_outage_ms", "double_work_ms", "headline",
    ),
}  # fmt: skip


def names() -> list[str]:
    """Return the names of the samples."""
    return sorted(p.name for p in SAMPLES.iterdir() if (p / "logs").is_dir())


def case_of(name: str, folder: Path) -> Case:
    """Read a sample into a case and build its views."""
    summary = ingest([SAMPLES / name / "logs"], folder, jobs=2)
    return build(summary.case, engine(jobs=2, little=True))


def rows_of(case: Case) -> dict[str, list[dict[str, Any]]]:
    """Return the expected results of a case: rows of each view in `COLUMNS`, in a stable order."""
    report = reading.read(case, selection.Filters())
    found = {
        "generation": [g for group in report.groups for g in group["generations"]],
        "split_brain": report.split_brain,
        "finding": report.findings,
        "incident": report.incidents,
    }
    return {view: sorted(({c: _plain(r[c]) for c in columns} for r in found[view]), key=json.dumps) for view, columns in COLUMNS.items()}


def excerpt(case: Case) -> str:
    """Return the report's first screen."""
    report = reading.read(case, selection.Filters())
    worded = localize.for_reader(case, report, UTC, Names(report).processes)
    return text.as_text(content.first_screen(worded), 110).strip()


def with_excerpt(readme: str, shown: str) -> str:
    """Return the README with the excerpt inserted."""
    begin, end = "<!-- report -->\n", "<!-- /report -->"
    before, rest = readme.split(begin)
    return before + begin + f"```text\n{shown}\n```\n" + end + rest.split(end)[1]


def _plain(value: object) -> object:
    return iso(value) if hasattr(value, "tzinfo") else value  # type: ignore[arg-type]


def main() -> None:
    """Write the files of all samples, or of the named ones; for all of them, also the outputs in docs/."""
    asked = sys.argv[1:] or names()
    with tempfile.TemporaryDirectory() as folder:
        cases = {name: case_of(name, Path(folder) / name) for name in asked}
        for name, case in cases.items():
            if name == SHOWN:
                readme = SAMPLES.parent / "README.md"
                readme.write_text(with_excerpt(readme.read_text(encoding="utf-8"), excerpt(case)), encoding="utf-8")
                make_notebook.main()
            for view, rows in rows_of(case).items():
                file = SAMPLES / name / "expected" / f"{view}.json"
                file.parent.mkdir(exist_ok=True)
                file.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
                print(f"{file.relative_to(SAMPLES.parent)}: {len(rows)} rows")
        if set(make_answers.CASES.values()) <= cases.keys():
            make_answers.write({short: cases[name].root for short, name in make_answers.CASES.items()})


if __name__ == "__main__":
    main()
