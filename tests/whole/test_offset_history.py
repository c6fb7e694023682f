"""What moved a group's offsets, from a consumer's log and a dump of `__consumer_offsets`: a tool, or a commit that was removed; and damaged dumps."""

from __future__ import annotations

import pytest
from offset_logs import T0, write

import forensics

pytestmark = [pytest.mark.engine, pytest.mark.whole]


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A case with the consumer of each group, and a dump of each."""
    logs = tmp_path_factory.mktemp("offsets") / "logs"
    write(logs)
    return forensics.ingest(logs, logs.parent / "case").case


def _of(case, view: str, group: str):
    return [row for row in case.view(view).to_pylist() if row["group_id"] == group]


@pytest.mark.parametrize(
    ("group", "code", "again", "skipped", "by"),
    [
        ("back", "set_from_outside", 5500, 0, "outside"),
        ("ahead", "set_from_outside", 0, 4210, "outside"),
        ("removed", "commit_removed", 5500, 0, "removed"),
    ],
)
def test_what_moved_the_offsets_is_found(case, group, code, again, skipped, by):
    found = [f for f in case.findings if f["rule"] == "offset-reset" and f["group_id"] == group]
    assert [(f["code"], f["verdict"]) for f in found] == [(code, "proved")]
    twice = [(d["committed_again_lo"], d["committed_again_hi"]) for d in _of(case, "duplicate_ledger", group)]
    assert twice == ([(again, again)] if again else [])  # a consumer that continues further ahead reads nothing twice
    never = next(s for s in _of(case, "skip_ledger", group) if s["generation"] == 3)
    assert (never["records_lo"], never["records_hi"], never["certainty"], never["moved_by"]) == (skipped, skipped, "exact", by)
    text = case.report(groups=[group]).text()
    assert f"{again or skipped:,} records" in text
    assert ("0 records skipped" in text) == bool(again)
    ranges = [(r["what"], r["first_offset"], r["last_offset"], r["certainty"], r["why"]) for r in _of(case, "affected_range", group)]
    expected = ("read_twice", 0, again - 1, "at_least", "committed") if again else ("skipped", 5500, 9709, "exact", "outside")
    assert ranges == [expected]


def test_a_dump_with_a_gap_gives_bounds(case):
    never = next(s for s in _of(case, "skip_ledger", "gap") if s["generation"] == 3)
    assert (never["records_lo"], never["records_hi"], never["certainty"], never["reason"]) == (0, 6210, "bounded", "missing_commits")  # truly 4210
    assert not [f for f in case.findings if f["rule"] == "offset-reset" and f["group_id"] == "gap" and f["code"] != "no_commit"]


def test_outputs_with_times_show_what_stood_still_and_what_changed_hands(case):
    found = [f for f in case.findings if f["rule"] == "growing-lag"]
    assert [(f["code"], f["group_id"], f["subject"], f["verdict"]) for f in found] == [("stands_still", "slow", "orders-0", "undecided")]
    changed = [r for r in case.view("lag_change").to_pylist() if r["owner"] == "changed"]
    assert [(r["partition"], r["from_ts"].timestamp() * 1000 - T0, r["to_ts"].timestamp() * 1000 - T0) for r in changed] == [
        ("orders-1", 60_000, 120_000)
    ]
    assert "committed nothing past offset 700" in case.report(groups=["slow"]).text(full=True)


def test_an_offset_of_a_source_that_went_back_and_a_hanging_transaction_are_findings(case):
    found = [f for f in case.findings if f["rule"] in ("source-rewound", "hanging-transaction") and f["subject"] != "shop"]
    assert {(f["code"], f["subject"], f["verdict"]) for f in found} == {
        ("went_back", "files", "undecided"),
        ("hanging", "orders-0", "undecided"),
        ("ongoing", "pay-1", "undecided"),
        ("open", "audit-0", "undecided"),
    }
    written = [(r["producer_id"], r["first_offset"], r["last_offset"], r["records"]) for r in case.view("produced_range").to_pylist()]
    assert sorted(written, key=str) == [(5, 0, 4, 5), (None, 5, 9, 5)]
    assert [(r["change"], r["outcome"]) for r in case.view("source_offset").to_pylist()] == [("first", "earlier"), ("back", "last")]


def test_a_snapshot_that_is_taken_again_is_proved_by_the_lines_of_both(case):
    starts = sorted(case.view("source_start").to_pylist(), key=lambda row: row["life"])
    assert [(s["task"], s["life"], s["found"], s["snapshot"], s["before"]) for s in starts] == [
        ("shop-0", 1, "missing", "completed", None),
        ("shop-0", 2, "missing", "completed", "completed"),
    ]
    (found,) = (f for f in case.findings if f["rule"] == "source-rewound" and f["subject"] == "shop")
    assert (found["code"], found["verdict"], len(found["witness"])) == ("snapshot_taken_again", "proved", 6)
    assert case.view("unrecognised").num_rows == 0
