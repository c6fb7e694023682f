"""Work with values that may be missing (None), as the views do: what is missing is not less than, equal to or after anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any


def first(*values: Any) -> Any:  # noqa: ANN401 (of the type of the values)
    """Return the first value that is there, else None."""
    return next((value for value in values if value is not None), None)


def there(values: Iterable[Any]) -> list[Any]:
    """Return the values that are not missing."""
    return [value for value in values if value is not None]


def least(*values: int | None) -> int | None:
    """Return the smallest value that is there, else None."""
    return min(there(values), default=None)


def greatest(*values: int | None) -> int | None:
    """Return the largest value that is there, else None."""
    return max(there(values), default=None)


def plus(*values: int | None) -> int | None:
    """Return the sum, or None if a value is missing."""
    return sum(there(values)) if None not in values else None


def minus(value: int | None, less: int | None) -> int | None:
    """Return the difference, or None if a value is missing."""
    return value - less if value is not None and less is not None else None


def up_to(a: int | None, b: int | None) -> bool:
    """Return True if both are known and `a` is not after `b`."""
    return a is not None and b is not None and a <= b


def less(a: int | None, b: int | None) -> bool:
    """Return True if both are known and `a` is less than `b`."""
    return a is not None and b is not None and a < b


def between(low: int | None, value: int | None, high: int | None) -> bool:
    """Return True if all are known and `value` lies between the two, or is one of them."""
    return up_to(low, value) and up_to(value, high)


def names(*lists: Iterable[str | None] | None) -> list[str]:
    """Return the different names of these lists in alphabetical order."""
    return sorted(set(there(chain.from_iterable(there(lists)))))


def order(value: object) -> Any:  # noqa: ANN401 (what can be compared with another key)
    """Return a sort key by which a missing value is first, also inside lists."""
    if value is None:
        return (0,)
    if isinstance(value, (list, tuple)):
        return (1, [order(item) for item in value])
    return (1, value)


def latest_first(value: int | None) -> tuple[bool, int]:
    """Return a sort key by which later times come first, and a missing one last."""
    return (value is None, -(value or 0))


def events_of(lists: Iterable[Sequence[str] | None], most: int) -> list[str]:
    """Return the first `most` different events of these lists, the lists in alphabetical order."""
    return list(dict.fromkeys(chain.from_iterable(sorted(there(lists)))))[:most]


def proof_events(proof: Iterable[Mapping[str, Any]] | None) -> list[str]:
    """Return the events of a rule's proof."""
    return there(line["event_id"] for line in proof or ())
