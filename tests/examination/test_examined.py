# SPDX-License-Identifier: Apache-2.0
"""What could be examined: the view decides the same as a report of the whole case."""

from __future__ import annotations

import pytest

from forensics.examination.examined import CODES, REASONS
from forensics.report import reading, selection, stored_rows
from forensics.wording.files import view_words

CASE = "split-brain-frozen-worker-3.9.1"


@pytest.mark.engine
def test_the_view_has_what_a_report_of_the_whole_case_says(sample_case) -> None:
    case = sample_case(CASE)
    (row,) = stored_rows.rows_of("examined", case.view_path("examined"))
    report = reading.read(case, selection.Filters())
    alike = report.examined.keys() & row.keys()
    assert alike >= {"examined", "groups", "owners", "from_ts", "to_ts", "groups_not_examined", "facts"}
    assert {name: row[name] for name in alike} == {name: report.examined[name] for name in alike}
    assert (report.examined["why"], report.examined["gap_ms"]) == (row["code"], row["silent_ms"])
    assert {k: n for k in ("task", "connector", "partition") if (n := row[f"{k}s"])} == report.examined["resources"]


def test_every_reason_has_words() -> None:
    assert set(view_words()["examined"].codes) == CODES == REASONS.keys()
