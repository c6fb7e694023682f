# SPDX-License-Identifier: Apache-2.0
"""No false root cause on histories by chance: whole, with whole logs missing, and with lines taken away. `unknown` is an answer."""

from __future__ import annotations

import os
import random

import pyarrow.dataset as ds
import pytest
from causes import RESTARTS
from histories import parse, random_history
from played_causes import done, hold
from simulator import simulate
from thinning import WAYS
from written_logs import case_of

SEED = int(os.environ.get("FORENSICS_SEED", "1"))
#: Histories played for each way of taking something away.
EACH = 5
#: Hosts whose logs are left out.
MISSING = {"whole": "", "no broker": "broker", "no w1": "w1", "no w2": "w2"}
TAKEN = (*MISSING, *sorted(WAYS))


def taken(how, path, text, rng):
    """A log as it remains; None: no log."""
    if how in MISSING:
        return None if MISSING[how] and path.startswith(MISSING[how]) else text
    return WAYS[how](text, rng)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Return the statements about the histories, by the removed logs."""
    rng, logs, played = random.Random(SEED), {}, {how: [] for how in TAKEN}
    for number in range(EACH * len(TAKEN)):
        how, one = TAKEN[number % len(TAKEN)], simulate(parse(random_history(SEED * 1_000_000 + number)), number)
        played[how].append(one)
        for path, process in one.logs.items():
            text = taken(how, path, process.text(), rng)
            if text is not None:
                logs[f"{one.name}/{path}"] = text
    case = case_of(logs, tmp_path_factory.mktemp("played"))
    incidents, processes = (ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist() for view in ("incident", "process"))
    return {how: hold(all_of, incidents, processes) for how, all_of in played.items()}


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("how", TAKEN)
def test_no_root_cause_is_false(found, how):
    assert found[how].false == []


@pytest.mark.engine
@pytest.mark.slow
def test_causes_are_told_where_all_logs_are_here(found):
    told = found["whole"]
    assert len(told.right) > 1
    assert told.open + sum(told.right.values()) >= EACH


@pytest.mark.parametrize(
    ("deeds", "expected"),
    [
        ("w2~20s 40s", [("process_paused", 6.0, 26.0)]),
        ("w2/20s 5s w2/20s 40s", [("member_cut_off", 6.0, 31.0)]),
        ("w2x 8s w2+ 25s", [("process_killed", 6.0, 14.0)]),
        ("b~4s 20s", []),
    ],
)
def test_what_was_done_is_known(deeds, expected):
    played = simulate(parse(f"3.9 tasks=a:1,b:1 seed=3 | w1+ 1s w2+ 5s {deeds}"))
    start = min(d.at_ms for d in done(played)) - 6000 if expected else 0
    assert [(next(iter(d.causes)), (d.at_ms - start) / 1000, (d.over_ms - start) / 1000) for d in done(played)] == expected


def test_the_frozen_hear_late_that_they_shall_stop():
    played = simulate(parse("3.9 tasks=a:1,b:1 seed=3 | w1+ 1s w2+ 5s w2~20s 10s w2- 30s w2+ 20s"))
    paused, stopped = done(played)
    assert stopped.causes == RESTARTS
    assert stopped.at_ms == paused.over_ms
