"""Name tasks, connectors and partitions in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from forensics.wording.formats import and_more, fold, joined

if TYPE_CHECKING:
    from forensics.report.model import Row

_TOPICS = 3


def in_words(resources: Sequence[str], rows: Iterable[Row]) -> str:
    """Return resources as a phrase: `tasks a-0, a-1 and b-[0-2], and partitions lab-input 0-2, 4 and 5`.

    Args:
        resources: their names, each once, in order.
        rows: rows of `ownership` or `split_brain`, which have the kind of each resource.
    """
    kinds = {o["resource"]: o["resource_kind"] for o in rows}
    parts = [
        f"{kind}{'s' * (len(of) > 1)} {and_more(_folded(of))}"
        for kind in ("task", "connector")
        if (of := [r for r in resources if kinds.get(r) == kind])
    ]
    topics: dict[str, list[int]] = {}
    placed = {r for r in resources if kinds.get(r) == "partition" and r.rpartition("-")[2].isdecimal()}
    partitions = [r for r in resources if r in placed]
    for topic, _, number in (r.rpartition("-") for r in partitions):
        topics.setdefault(topic, []).append(int(number))
    if len(partitions) == 1:
        parts.append(f"partition {partitions[0]}")
    elif topics:
        by_topic = [f"{topic} {and_more(_runs(sorted(numbers)), len(numbers))}" for topic, numbers in sorted(topics.items())]
        parts.append(f"partitions {'; '.join(by_topic[:_TOPICS])}{'; …' * (len(by_topic) > _TOPICS)}")
    if others := [r for r in resources if kinds.get(r) not in ("task", "connector") and r not in placed]:
        parts.append(and_more(others))
    # A comma keeps lists apart.
    if len(parts) > 1 and any(" and " in part for part in parts):
        return f"{', '.join(parts[:-1])}, and {parts[-1]}"
    return joined(parts)


def _folded(names: Sequence[str]) -> list[str]:
    """Fold three or more tasks of a connector into one word."""
    of: dict[str, list[str]] = {}
    for name in names:
        of.setdefault(name.rpartition("-")[0] or name, []).append(name)
    return [word for same in of.values() for word in ([fold(same)] if len(same) > 2 else same)]


def _runs(numbers: Sequence[int]) -> list[str]:
    """Return numbers as `0-2`, `4`, `5`: three or more consecutive numbers are one word."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return [word for run in runs for word in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run))]
