# SPDX-License-Identifier: Apache-2.0
"""The findings that each recording deserves, as a page that a person has judged by the recording's truth.

`python tests/recordings/expected_findings.py CASES` writes `tests/recordings/expected_findings.toml` from cases that `tests/recordings/score.py --cases CASES` left; read the
difference before you commit it: nothing critical may stand there that the truth does not bear out.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pyarrow.dataset as ds

from forensics.case import folder as case_folder
from forensics.wording.files import rule_words

FILE = Path(__file__).parent / "expected_findings.toml"
SEVERITIES = ("critical", "warning", "note")


def expected() -> dict[str, dict[str, list[str]]]:
    """Recording -> severity -> findings."""
    return tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def found(case: Path) -> dict[str, list[str]]:
    """Severity -> findings of a case, each as its rule, its subject and, where it is not proved, its verdict.

    Lines that a rule only repeats (`links.rest`) need no judgement.
    """
    repeated = {name for name, words in rule_words().items() if words.links.rest}
    path = case_folder.open_case(case).view_path("finding")
    rows = ds.dataset(path, format="parquet").to_table(columns=["severity", "rule", "subject", "verdict"]).to_pylist() if path else []
    return {
        s: sorted(
            " ".join(filter(None, (r["rule"], r["subject"], *([r["verdict"]] * (r["verdict"] != "proved")))))
            for r in rows
            if r["severity"] == s and r["rule"] not in repeated
        )
        for s in SEVERITIES
    }


def written(cases: dict[str, Path]) -> str:
    """The page for some cases."""
    parts = ["# Findings by recording and severity: rule, subject, and the verdict where it is not `proved`. Judged by each recording's truth.\n"]
    for name, case in sorted(cases.items()):
        parts.append(f'\n["{name}"]\n')
        for severity, findings in found(case).items():
            if findings:
                lines = "".join(f"    {_quoted(f)},\n" for f in findings)
                parts.append(f"{severity} = [\n{lines}]\n")
    return "".join(parts)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


if __name__ == "__main__":
    FILE.write_text(
        written({c.name: c for c in Path(sys.argv[1]).iterdir() if (c / "case.json").is_file() and "-without-" not in c.name}), encoding="utf-8"
    )
    print(FILE)
