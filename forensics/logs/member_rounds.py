"""Read the rounds of members with what their own logs and the group's history show of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from forensics.relations.inputs import Inputs, Row

#: Columns that distinguish rounds.
_ROUND = ("process_id", "group_id", "client", "round")


def member_rounds(inputs: Inputs, own: Sequence[str], placed: Sequence[str], where: pc.Expression | None = None) -> Iterator[Row]:
    """Yield rounds.

    Args:
        inputs: rows of `join_round` and `member_round`.
        own: columns of `join_round`, from the member's own lines.
        placed: columns of `member_round`: the incarnation and what the coordinator shows.
        where: a condition on columns that both views have.
    """
    key = itemgetter(*_ROUND)
    rounds = {key(row): row for row in inputs.rows("join_round", [*_ROUND, *own], where)}
    for row in inputs.rows("member_round", [*_ROUND, *placed], where):
        if (its := rounds.get(key(row))) is not None:
            yield its | row
