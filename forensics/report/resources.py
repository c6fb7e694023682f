"""Tasks, connectors and partitions in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from forensics.wording.formats import fold, joined

if TYPE_CHECKING:
    from forensics.report.model import Row

_TOPICS = 3


def in_words(resources: Sequence[str], rows: Iterable[Row]) -> str:
    """`tasks a-0, a-1 and b-[0-2], partitions lab-input 0-2, 4 and 5`.

    Args:
        resources: their names, each once, in order.
        rows: of `ownership` or `split_brain`, which tell what kind each of them is.
    """
    kinds = {o["resource"]: o["resource_kind"] for o in rows}
    parts = [
        f"{kind}{'s' * (len(of) > 1)} {and_more(_folded(of))}"
        for kind in ("task", "connector")
        if (of := [r for r in resources if kinds.get(r) == kind])
    ]
    topics: dict[str, list[int]] = {}
    partitions = [r for r in resources if kinds.get(r) == "partition" and r.rpartition("-")[2].isdecimal()]
    for topic, _, number in (r.rpartition("-") for r in partitions):
        topics.setdefault(topic, []).append(int(number))
    if topics:
        several = sum(map(len, topics.values())) > 1
        told = [f"{topic} {and_more(_runs(sorted(numbers)), len(numbers))}" for topic, numbers in sorted(topics.items())]
        parts.append(f"partition{'s' * several} {'; '.join(told[:_TOPICS])}{'; …' * (len(told) > _TOPICS)}")
    if others := [r for r in resources if kinds.get(r) not in ("task", "connector") and r not in partitions]:
        parts.append(and_more(others))
    return ", ".join(parts)


def _folded(names: Sequence[str]) -> list[str]:
    """Three and more tasks of a connector are one word."""
    of: dict[str, list[str]] = {}
    for name in names:
        of.setdefault(name.rpartition("-")[0] or name, []).append(name)
    return [word for same in of.values() for word in ([fold(same)] if len(same) > 2 else same)]


def and_more(words: Sequence[str], most: int = 6) -> str:
    """`a, b and c`, or, of more than `most`, `a, b and 4 more`; empty of none."""
    shown = [*words[: most - 1], f"{len(words) - most + 1:,} more"] if len(words) > most else list(words)
    return joined(shown)


def _runs(numbers: Sequence[int]) -> list[str]:
    """`0-2`, `4`, `5`: three and more in a row are one word."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return [word for run in runs for word in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run))]
