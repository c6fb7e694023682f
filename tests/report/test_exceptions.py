# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the group protocol: every name and wording identifies its own exception, and no other."""

import pytest

from forensics.report.exceptions import exceptions, find_exceptions


@pytest.mark.parametrize(
    ("known", "text"), [(e, text) for e in exceptions() for text in (*e.names, *e.says)], ids=lambda x: x if isinstance(x, str) else ""
)
def test_each_name_and_wording_tells_its_own(known, text):
    assert find_exceptions(f"failed: {text}: oops")[0][0] == known


def test_the_order_is_that_of_the_text_and_each_is_told_once():
    text = "x.TaskMigratedException: y\nCaused by: a.CommitFailedException: z\nCaused by: a.UnknownMemberIdException: The coordinator is not aware of this member."
    assert [e.names[0] for e, _ in find_exceptions(text)] == ["TaskMigratedException", "CommitFailedException", "UnknownMemberIdException"]


@pytest.mark.parametrize("text", ["java.lang.IllegalStateException: x", "MyCommitFailedExceptionHandler ready", "the group is dancing", ""])
def test_others_tell_nothing(text):
    assert find_exceptions(text) == []
