"""Find who else had no coordinator when a member lost its own, as far as the bounds of the clocks leave no doubt."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from forensics.relations.missing import first


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A loss of a coordinator by a member, on the reference clock.

    Attributes:
        kafka_cluster, group_id, process_id: of the member.
        broker_id: the coordinator; None: unknown.
        reference_process_id: the process whose clock is the reference; None: unknown.
        lost_lo_ms, lost_hi_ms: it was lost between these times; None: unknown.
        length_ms: how long it was lost; None: unknown.
    """

    kafka_cluster: str | None
    group_id: str | None
    process_id: str
    broker_id: int | None
    reference_process_id: str | None
    lost_lo_ms: int | None
    lost_hi_ms: int | None
    length_ms: int | None


class _Span(NamedTuple):
    """The time of a loss, with a margin. Two of them meet if each begins before the other ends."""

    from_ms: int
    to_ms: int


#: What must differ between two losses: processes, or processes and groups.
_Names = tuple[str | None, ...]


def scopes(losses: Sequence[Loss], within_ms: int) -> list[str | None]:
    """Return for each loss who else had no coordinator at that time.

    Returns:
        `member`: nobody else; `group`: other members of the group; `broker`: also members of other groups of that broker; None: unknown, because the clock
        bounds are too wide.

    Args:
        losses: the losses.
        within_ms: members that lose a coordinator within this time of each other lost it at the same time.
    """
    sure, possible = [_sure(loss, within_ms) for loss in losses], [_possible(loss, within_ms) for loss in losses]
    of_other_groups = _meeting(losses, sure, lambda loss: loss.broker_id, lambda loss: (loss.process_id, loss.group_id))
    of_group = _meeting(losses, sure, lambda loss: loss.group_id, lambda loss: (loss.process_id,))
    maybe_of_group = _meeting(losses, possible, lambda loss: loss.group_id, lambda loss: (loss.process_id,))
    apart = _apart(losses)
    found: list[str | None] = []
    for nth, loss in enumerate(losses):
        if of_other_groups[nth]:
            found.append("broker")
        elif of_group[nth]:
            found.append("group")
        else:
            found.append(None if maybe_of_group[nth] or (loss.kafka_cluster, loss.group_id) in apart else "member")
    return found


def _sure(loss: Loss, within_ms: int) -> _Span | None:
    """Return the span of a loss which those of others meet if they were certainly lost within that time, or while this one was."""
    if loss.lost_lo_ms is None or loss.lost_hi_ms is None:
        return None
    return _Span(loss.lost_hi_ms, loss.lost_lo_ms + max(within_ms, first(loss.length_ms, 0)))


def _possible(loss: Loss, within_ms: int) -> _Span | None:
    """Return the same for losses that may have been at that time."""
    if loss.lost_lo_ms is None or loss.lost_hi_ms is None:
        return None
    return _Span(loss.lost_lo_ms, loss.lost_hi_ms + max(within_ms, first(loss.length_ms, 0)))


def _apart(losses: Iterable[Loss]) -> set[tuple[str | None, str | None]]:
    """Return the groups whose members' clocks cannot be compared."""
    references = defaultdict(set)
    for loss in losses:
        if loss.reference_process_id is not None:
            references[loss.kafka_cluster, loss.group_id].add(loss.reference_process_id)
    return {group for group, its in references.items() if len(its) > 1}


def _meeting(losses: Sequence[Loss], spans: Sequence[_Span | None], key: Callable[[Loss], Hashable], names: Callable[[Loss], _Names]) -> list[bool]:
    """Return for each loss whether its span meets that of another one with the same key, of the same cluster and clock, whose names all differ."""
    alike: defaultdict[Hashable, list[int]] = defaultdict(list)
    for nth, loss in enumerate(losses):
        if spans[nth] is not None and loss.kafka_cluster is not None:
            alike[loss.kafka_cluster, loss.reference_process_id, key(loss)].append(nth)
    found = [False] * len(losses)
    for its in alike.values():
        its_spans = [(span, names(losses[nth])) for nth in its if (span := spans[nth]) is not None]
        others = _Spans(its_spans)
        for nth, (span, own) in zip(its, its_spans, strict=True):
            found[nth] = others.meet(span, own)
    return found


class _Spans:
    """Spans in the order of their begins."""

    def __init__(self, spans: Iterable[tuple[_Span, _Names]]) -> None:
        self._from_ms: list[int] = []
        #: The spans that reach furthest, of those up to each one.
        self._furthest: list[list[tuple[int, _Names]]] = []
        furthest: list[tuple[int, _Names]] = []
        for (from_ms, to_ms), names in sorted(spans, key=itemgetter(0)):
            furthest = _enough([*furthest, (to_ms, names)])
            self._from_ms.append(from_ms)
            self._furthest.append(furthest)

    def meet(self, span: _Span, names: _Names) -> bool:
        """Return True if one whose names all differ from these meets a span."""
        begun = bisect_right(self._from_ms, span.to_ms)
        candidates = self._furthest[begun - 1] if begun else ()
        return any(to_ms >= span.from_ms and all(its != own for its, own in zip(other, names, strict=True)) for to_ms, other in candidates)


def _enough(spans: list[tuple[int, _Names]]) -> list[tuple[int, _Names]]:
    """Return the spans that reach furthest: for any names, one that reaches furthest of those with other names is among them.

    Of `n` names each, a span with `n` better ones of the same name is never needed: one of these has other names wherever it has. Any `n` names exclude at most
    `n * n` of the rest.
    """
    kept: list[tuple[int, _Names]] = []
    counts: Counter[tuple[int, str | None]] = Counter()
    for to_ms, names in sorted(spans, key=itemgetter(0), reverse=True):
        most = len(names)
        is_new = all(names != other for _, other in kept)
        if is_new and len(kept) <= most * most and all(counts[named] < most for named in enumerate(names)):
            kept.append((to_ms, names))
            counts.update(enumerate(names))
    return kept
