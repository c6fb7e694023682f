# SPDX-License-Identifier: Apache-2.0
"""Finding the parts of a buffer that contain a word gives the same result as searching each part separately."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forensics.records.vectorized import buffers

#: Words that overlap, begin each other, and go on where a part ends.
WORDS = ("ab", "abc", "bca", "cc", "a", "Group ", "p c")
TEXTS = st.lists(st.tuples(st.text("abcx .", max_size=6), st.text("abcx Group.", max_size=9)), max_size=12)


@given(TEXTS, st.sampled_from([1, 3, 36]), st.sampled_from([1, 4, 1000]), st.sets(st.sampled_from(WORDS), min_size=1))
def test_parts_that_hold_a_word_are_found(texts, at_once, near, words):
    data, begins, stops = b"", [], []
    for between, text in texts:
        data += between.encode()
        begins.append(len(data))
        data += text.encode()
        stops.append(len(data))
    with patch.object(buffers, "_AT_ONCE", at_once), patch.object(buffers, "_NEAR", near):
        search = buffers.WordSearch(words)
        found = search.holding(buffers.Buffer.of(data), np.array(begins, np.int64), np.array(stops, np.int64))
    assert found.tolist() == [any(word in text for word in words) for _, text in texts]


def test_bytes_that_are_no_utf8_stop_nothing():
    data = b"\xff\xfeGroup \xff"
    assert buffers.WordSearch(["Group "]).holding(buffers.Buffer.of(data), np.array([0]), np.array([len(data)])).tolist() == [True]
