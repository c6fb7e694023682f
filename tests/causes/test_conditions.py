# SPDX-License-Identifier: Apache-2.0
"""Generated histories of troubles: whether each is over follows from its lines, as a plain oracle says; lost lines and the end of a log show nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.case.view_files import views
from forensics.causes.conditions import conditions
from forensics.causes.doubt import Doubt
from forensics.causes.ends_of_logs import LogEnds
from forensics.causes.incident_state import IncidentState, state_of, states
from forensics.relations.inputs import Inputs, Row

BEGIN_MS = 10_000
#: So long after a trouble, its end would have been logged.
SETTLED_MS = 30_000
KNOBS = {"coordinator_settled_ms": SETTLED_MS, "heartbeat_late_ms": 3_000, "storm_gap_ms": 60_000, "outage_untroubled_ms": 10_000}
TIMES = st.integers(1, 200).map(lambda second: BEGIN_MS + second * 1_000)
MAYBE = st.none() | TIMES


@cache
def no_values(view: str) -> Row:
    """Return a row in which every column of a view is missing."""
    return dict.fromkeys(views()[view].columns)


class Given(Inputs):
    """Rows of views; columns that are not given are missing."""

    def __init__(self, **given: list[Row]) -> None:
        super().__init__(lambda name: [], KNOBS)
        self._given = given

    def made_by(self, function: Callable[[Inputs], Any]) -> Any:  # noqa: ANN401
        """Return the rows that are given of the views that others compute too."""
        return self.rows({"forensics.causes.occurrences": "occurrence", "forensics.causes.gaps": "incident_gap"}[function.__module__])

    def rows(self, view: str, columns: Sequence[str] | None = None, where: ds.Expression | None = None) -> list[Row]:
        given_rows = self._given.get(view, [])
        found = [{**no_values(view), **row} for row in given_rows] if given_rows else []
        if where is not None and found:
            numbers = pa.array(range(len(found)))
            table = pa.table(
                {"number": numbers, **{name: [row[name] for row in found] for name in ("event", "verdict", "process_id") if name in found[0]}}
            )
            found = [found[number] for number in ds.dataset(table).to_table(filter=where)["number"].to_pylist()]
        return found


@dataclass(frozen=True)
class History:
    """What happened after a trouble began.

    Attributes:
        ended_ms: the line of its end.
        shut_down_ms: its process began to shut down.
        lost_ms: lines are lost from this time on; None: none are.
        found_ms: the first line after these; None: none follows.
        last_ms: the last line of the log.
    """

    ended_ms: int | None
    shut_down_ms: int | None
    lost_ms: int | None
    found_ms: int | None
    last_ms: int

    @property
    def visible_end_ms(self) -> int | None:
        return self._visible(self.ended_ms)

    @property
    def visible_shutdown_ms(self) -> int | None:
        return self._visible(self.shut_down_ms)

    def _visible(self, at_ms: int | None) -> int | None:
        """Return a time if the log has its line."""
        is_lost = self.lost_ms is not None and at_ms is not None and at_ms > self.lost_ms and (self.found_ms is None or at_ms < self.found_ms)
        return at_ms if at_ms is not None and at_ms <= self.last_ms and not is_lost else None

    @property
    def expected(self) -> str:
        """Say it plainly: over with a line about its end, not over if the log would have one, otherwise unknown."""
        if self.visible_end_ms is not None:
            return "over"
        if self.visible_shutdown_ms is not None:
            return "open" if self.visible_shutdown_ms >= self.last_ms - SETTLED_MS else "over"
        return "unknown" if self.lost_ms is not None or self.last_ms < BEGIN_MS + SETTLED_MS else "open"

    def views(self) -> dict[str, list[Row]]:
        """Return the rows about the process's log."""
        lost = [{"process_id": "c1", "from_ms": self.lost_ms, "to_ms": self.found_ms, "why": "zero_bytes"}] if self.lost_ms is not None else []
        return {
            "process_life": [{"process_id": "c1", "ending_ms": self.visible_shutdown_ms, "last_ms": self.last_ms}],
            "clock_offset": [{"process_id": "c1", "reference_process_id": "c1", "lo_ms": 0, "hi_ms": 0, "is_island_reference": True}],
            "lost_range": lost,
        }


@st.composite
def histories(draw: st.DrawFn) -> History:
    lost, found, last = draw(MAYBE), draw(MAYBE), draw(TIMES)
    if lost is not None:
        found = max(lost, found) if found is not None else None
        last = max(last, found) if found is not None else max(BEGIN_MS, lost)
    shut_down = draw(MAYBE)
    return History(draw(MAYBE), shut_down if shut_down is None or shut_down <= last else None, lost, found, last)


def state(**given: list[Row]) -> IncidentState:
    rows = Given(**given)
    ends = LogEnds(rows)
    return state_of(conditions(rows, ends, Doubt(rows))["i1"], ends.last_ms)


@settings(max_examples=150)
@given(histories())
def test_a_member_that_left_at_its_poll_timeout_is_away_until_a_line_says_that_it_is_back(history: History) -> None:
    cause = {
        **{"incident_id": "i1", "cause": "poll_too_slow", "subject": "c1", "process_ids": ["c1"], "group_ids": ["g"]},
        **{"from_lo_ms": BEGIN_MS, "from_hi_ms": BEGIN_MS, "to_hi_ms": BEGIN_MS, "alternatives": []},
    }
    back = [{"process_id": "c1", "group_id": "g", "event": "joined", "at_ms": at_ms} for at_ms in (history.visible_end_ms,) if at_ms is not None]
    found = state(root_cause=[cause], client_event=back, **history.views())
    assert found.state == history.expected
    assert found.still == ([] if found.state == "over" else ["process_away"])


@pytest.mark.parametrize(
    ("flaps", "is_settled", "back_ms", "expected"), [(1, False, None, False), (0, False, None, True), (1, True, None, True), (1, False, 50, True)]
)
def test_a_coordinator_that_was_lost_again_before_is_back_only_if_the_log_shows_that_it_stays(
    flaps: int, is_settled: bool, back_ms: int | None, expected: bool
) -> None:
    facts = json.dumps({"flaps": flaps, "is_settled": is_settled, "back_ms": back_ms, "is_open": False, "processes": ["c1"]})
    lost = {
        "incident_id": "i1",
        "rule": "coordinator-unavailable",
        "code": "unknown",
        "subject": "c1",
        "from_ts": BEGIN_MS,
        "to_ts": BEGIN_MS + 100,
        "facts": facts,
    }
    history = History(None, None, None, None, BEGIN_MS + 200)
    assert (state(occurrence=[lost], **history.views()).state == "over") is expected


@settings(max_examples=150)
@given(histories(), st.booleans())
def test_a_fenced_producer_is_fenced_until_a_line_says_that_its_process_has_another(history: History, is_abortable: bool) -> None:
    facts = json.dumps({"process_id": "c1", "client_id": "p", "is_abortable": is_abortable})
    fence = {"incident_id": "i1", "rule": "producer-fenced", "subject": "tx", "from_ts": BEGIN_MS, "to_ts": BEGIN_MS, "facts": facts}
    # The session that was fenced began before.
    starts = [BEGIN_MS - 5_000, *([history.visible_end_ms] if history.visible_end_ms is not None else [])]
    sessions = [{"process_id": "c1", "transactional_id": "tx", "start_hi": at_ms} for at_ms in starts]
    found = state(occurrence=[fence], producer_session=sessions, **history.views())
    # It may have gone on after it had aborted its transaction.
    expected = "unknown" if is_abortable and history.expected == "open" and history.visible_shutdown_ms is None else history.expected
    if history.visible_shutdown_ms is not None and history.visible_end_ms is None:
        expected = "over"  # its last producer is gone with its process
    assert found.state == expected
    assert found.still == ([] if found.state == "over" else ["fenced"])


@settings(max_examples=100)
@given(histories(), st.sampled_from([("partition", "no_owner"), ("task", "no_owner"), ("group", "group_empty")]), st.booleans())
def test_work_has_no_owner_and_a_group_no_members_until_a_line_says_who_has_it(history: History, kind: tuple[str, str], is_certain: bool) -> None:
    resource_kind, name = kind
    gap = {
        **{"incident_id": "i1", "group_id": "g", "resource_kind": resource_kind, "resource": "x", "from_ts": BEGIN_MS},
        **{"to_ts": history.visible_end_ms, "unowned_ms": 5_000 if is_certain else 0},
    }
    member = [{"group_id": "g", "process_id": "c1"}]
    found = state(incident_gap=[gap], member=member, **history.views())
    is_shown = is_certain and history.lost_ms is None
    assert found.state == ("over" if history.visible_end_ms is not None else "open" if is_shown else "unknown")
    assert found.still == ([] if found.state == "over" else [name])


@settings(max_examples=100)
@given(st.lists(st.tuples(histories(), st.booleans()), min_size=1, max_size=4))
def test_an_incident_is_over_when_the_last_of_its_troubles_is(all_of: list[tuple[History, bool]]) -> None:
    gaps = [
        {
            **{"incident_id": "i1", "group_id": "g", "resource_kind": "task", "resource": f"a-{number}", "id": str(number), "from_ts": BEGIN_MS},
            **{"to_ts": history.visible_end_ms, "unowned_ms": 5_000 if is_certain else 0},
        }
        for number, (history, is_certain) in enumerate(all_of)
    ]
    found = state(incident_gap=gaps)
    ends = [history.visible_end_ms for history, _ in all_of]
    if None not in ends:
        assert (found.state, found.over_ms) == ("over", max(ends))
    else:
        is_open = any(end is None and is_certain for end, (_, is_certain) in zip(ends, all_of, strict=True))
        assert found.state == ("open" if is_open else "unknown")


def ended(**more: Any) -> Row:
    cause = {"incident_id": "i1", "cause": "process_paused", "subject": "c1", "process_ids": ["c1"], "group_ids": ["g"], "alternatives": []}
    return {**cause, "from_lo_ms": BEGIN_MS, "from_hi_ms": BEGIN_MS, "to_hi_ms": BEGIN_MS + 5_000, **more}


def outcome(history: History) -> tuple[str, int | None]:
    found = states(Given(root_cause=[ended()], **history.views()))["i1"]
    return found.state, found.over_ms


def test_nothing_is_over_if_lines_about_more_of_its_effects_may_be_lost() -> None:
    whole = History(None, None, None, None, BEGIN_MS + 90_000)
    assert outcome(whole) == ("over", BEGIN_MS + 5_000)
    assert outcome(replace(whole, lost_ms=BEGIN_MS + 2_000, found_ms=BEGIN_MS + 9_000)) == ("unknown", None)
    assert outcome(replace(whole, lost_ms=BEGIN_MS + 2_000, last_ms=BEGIN_MS + 2_000)) == ("unknown", None)


def test_a_log_that_is_cut_before_the_end_of_its_groups_trouble_shows_no_end_and_one_that_is_cut_later_does() -> None:
    whole = History(None, None, None, None, BEGIN_MS + 90_000)
    for cut_ms, expected in ((BEGIN_MS + 4_000, "unknown"), (BEGIN_MS + 80_000, "over")):
        cut = [{"process_id": "c1", "from_ms": cut_ms, "to_ms": None, "why": "cut_end"}]
        assert states(Given(root_cause=[ended()], **{**whole.views(), "lost_range": cut}))["i1"].state == expected


def test_lines_that_are_lost_before_it_or_long_after_its_end_change_nothing() -> None:
    whole = History(None, None, BEGIN_MS + 60_000, BEGIN_MS + 70_000, BEGIN_MS + 90_000)
    assert outcome(whole) == ("over", BEGIN_MS + 5_000)
    assert outcome(replace(whole, lost_ms=BEGIN_MS - 9_000, found_ms=BEGIN_MS - 1_000)) == ("over", BEGIN_MS + 5_000)
