# SPDX-License-Identifier: Apache-2.0
"""Spans that touch another one, against a look at all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.causes.spans import Spans

MS = st.integers(0, 30)
SPAN = st.tuples(st.none() | MS, st.none() | MS)


@given(st.lists(SPAN), st.none() | MS, st.none() | MS)
def test_spans_are_those_that_a_look_at_all_finds(spans: list[tuple[int | None, int | None]], begin: int | None, end: int | None) -> None:
    found = list(Spans((lo, hi, nth) for nth, (lo, hi) in enumerate(spans)).touching(begin, end))
    expected = {
        nth
        for nth, (lo, hi) in enumerate(spans)
        if (lo is None or end is not None and lo <= end) and (hi is None or begin is not None and hi >= begin)
    }
    assert set(found) == expected
    assert len(found) == len(expected)
    begins = [-1 if spans[nth][0] is None else spans[nth][0] for nth in found]
    assert begins == sorted(begins, reverse=True), "the last first"
