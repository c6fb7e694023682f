# SPDX-License-Identifier: Apache-2.0
"""Objects that were broken at one width against their definition: an object goes on while its rows are full and it cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from forensics.records.layouts import read_json
from forensics.records.line_reader import ObjectRows


def by_definition(rows: Sequence[str], width: int) -> Iterator[str]:
    before = ""
    for row in rows:
        before += row
        if not (len(row) == width and before.startswith('{"') and read_json(before) is None):
            yield before
            before = ""
    if before:
        yield before


OBJECTS = st.dictionaries(st.text('ab"\\{}é'), st.text('ab"\\{}[],: \n'), min_size=1).map(json.dumps)
TEXTS = st.tuples(OBJECTS, st.text('"\\{},] x', max_size=3)).map("".join) | st.text('{"\\}a:,')


@given(st.lists(TEXTS, max_size=4), st.integers(3, 20))
def test_rows_are_joined_as_long_as_their_object_is_not_whole(texts: list[str], width: int) -> None:
    rows = [text[at : at + width] for text in texts for at in range(0, len(text), width)]
    objects = ObjectRows(width)
    found = [whole for row in rows if (whole := objects.add(row)) is not None]
    assert [*found, *filter(None, [objects.rest()])] == list(by_definition(rows, width))
