# SPDX-License-Identifier: Apache-2.0
"""Whether an incident is over: what each state's ends, later lines and missing lines decide."""

from __future__ import annotations

import pytest

from forensics.causes.incident_state import state_of
from forensics.causes.states import ORDER, STATES, Condition, End, Outcome

LAST_MS = 100_000


@pytest.mark.parametrize("name", STATES)
def test_a_line_about_its_end_ends_it(name: str) -> None:
    for end in STATES[name].ends:
        found = state_of([Condition(name, [(end, 5_000)], goes_on=True)], LAST_MS)
        assert (found.state, found.over_ms, found.still) == ("over", 5_000, [])


@pytest.mark.parametrize("name", STATES)
def test_a_later_line_without_an_end_shows_that_it_goes_on(name: str) -> None:
    found = state_of([Condition(name, goes_on=True, targets=["w1"])], LAST_MS)
    assert (found.state, found.over_ms, found.still, found.shown_ms, found.targets) == ("open", None, [name], LAST_MS, ["w1"])


@pytest.mark.parametrize("name", STATES)
def test_a_log_that_is_cut_before_either_shows_nothing(name: str) -> None:
    found = state_of([Condition(name)], LAST_MS)
    assert (found.state, found.over_ms, found.over_how, found.still) == ("unknown", None, None, [name])


@pytest.mark.parametrize("name", STATES)
def test_twice_is_over_only_if_both_are_over(name: str) -> None:
    end = min(STATES[name].ends, key=lambda end: end.value)
    first, second = Condition(name, [(end, 5_000)]), Condition(name, [(end, 9_000)])
    assert state_of([first, second], LAST_MS).over_ms == 9_000
    assert state_of([first, Condition(name, goes_on=True)], LAST_MS).state == "open"
    assert state_of([first, Condition(name)], LAST_MS).state == "unknown"


@pytest.mark.parametrize("name", STATES)
def test_what_only_interrupts_it_is_not_accepted_as_its_end(name: str) -> None:
    for end in set(End) - STATES[name].ends:
        with pytest.raises(ValueError, match=f"does not end {name}"):
            Condition(name, [(end, 5_000)])


def test_what_is_known_to_go_on_hides_what_is_unknown() -> None:
    found = state_of([Condition("failed"), Condition("process_away", goes_on=True), Condition("two_owners", goes_on=True)], LAST_MS)
    assert (found.state, found.still) == ("open", ["two_owners", "process_away"])


def test_an_end_at_an_unknown_time_is_an_end_without_a_time() -> None:
    found = state_of([Condition("process_away", [(End.JOINED, None)]), Condition(None, [(End.PASSED, 7_000)])], LAST_MS)
    assert (found.state, found.over_ms, found.over_how) == ("over", None, "ended")


def test_a_shutdown_ends_it_and_one_with_which_the_logs_end_does_not() -> None:
    stopped = Condition("process_away", [(End.STOPPED, 5_000)], targets=["w1"])
    assert (state_of([stopped], LAST_MS).state, state_of([stopped], LAST_MS).over_how, state_of([stopped], LAST_MS).targets) == (
        "over",
        "shut_down",
        ["w1"],
    )
    last = Condition("process_away", [(End.STOPPED, 99_000)], is_with_logs=True, shown_ms=99_000, targets=["w1"])
    assert (last.outcome, state_of([last], LAST_MS).over_how, state_of([last], LAST_MS).shown_ms) == (Outcome.OPEN, "shut_down", 99_000)


def test_the_most_severe_state_is_first() -> None:
    assert ORDER[:3] == ("two_owners", "broker_away", "process_away")
