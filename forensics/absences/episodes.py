"""Join evidence of one trouble of one process, and name its cause, or the causes that the lines leave open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forensics.relations.missing import events_of, greatest, least, names, order, there

if TYPE_CHECKING:
    from forensics.absences.evidence import Evidence

_WITNESS_MOST = 16


@dataclass(frozen=True)
class Episode:
    """Evidence of one trouble of one process run. Evidence that overlaps, by the process's own clock, is of one trouble."""

    evidence: Sequence[Evidence]

    @property
    def kinds(self) -> set[str]:
        """Return the kinds of evidence."""
        return {it.kind for it in self.evidence}

    @property
    def own_from_ms(self) -> int | None:
        """Return when it began, by its own clock."""
        return least(*(it.own_from_ms for it in self.evidence))

    @property
    def is_late(self) -> bool:
        """Return True if the process did not rejoin in time."""
        return any(it.is_late or it.kind in ("slow", "slow_or_paused") for it in self.evidence)

    @property
    def group_ids(self) -> list[str]:
        """Return the groups."""
        return names([it.group_id for it in self.evidence])

    @property
    def member_ids(self) -> list[str]:
        """Return the members that it lost."""
        return names([it.member_id for it in self.evidence])

    @property
    def witness(self) -> list[str]:
        """Return the events that show it."""
        return events_of((it.witness for it in self.evidence), _WITNESS_MOST)

    @property
    def cause(self) -> str:
        """Return its cause; unknown if the lines leave several open."""
        kinds = self.kinds
        if "paused" in kinds and not kinds & {"cut_off", "silent", "silent_unsure"}:
            return "process_paused"
        if "cut_off" in kinds and "paused" not in kinds:
            return "member_cut_off"
        return "poll_too_slow" if kinds == {"slow"} else "unknown"

    def alternatives(self, *, is_busy: bool) -> list[str]:
        """Return the possible causes, if the lines do not decide.

        Args:
            is_busy: True for a client that sends heartbeats between records only: one that works for too long on one is removed like one that is cut off.
        """
        found = self._alternatives()
        return sorted({*found, "poll_too_slow"}) if is_busy and found else found

    def _alternatives(self) -> list[str]:
        kinds, slow = self.kinds, ["poll_too_slow"] if self.is_late else []
        if "cut_off" in kinds and "paused" not in kinds:
            return []
        # Its log may lack the lines of its return.
        if "silent_unsure" in kinds:
            return ["lines_missing", "member_cut_off", "process_killed", "process_paused"]
        # A process that did not rejoin in time may have been slow.
        if "silent" in kinds:
            return ["member_cut_off", *slow, "process_killed", "process_paused"]
        if kinds == {"replaced"}:
            return ["process_killed", "process_restarted"]
        if "returned" in kinds:
            return ["member_cut_off", *slow, "process_killed", "process_paused", "process_restarted"]
        if "replaced" in kinds:
            return ["member_cut_off", "process_killed", "process_paused", "process_restarted"]
        if "slow_or_paused" in kinds:
            return ["member_cut_off", "poll_too_slow", "process_paused"]
        if ("paused" in kinds and "cut_off" not in kinds) or kinds == {"slow"}:
            return []
        return ["member_cut_off", "process_paused"]

    def bounds(self) -> tuple[int | None, int | None, int | None, int | None]:
        """Return when it began and ended, each at the earliest and at the latest, on the reference clock; the ends are None if it did not end in the logs.

        It began by the first evidence of it, and ended by the first evidence of its end.
        """
        best = self._decisive()
        if self.evidence[0].is_placed:
            from_lo_ms, from_hi_ms = greatest(*(it.from_lo_ms for it in best)), least(*(it.from_hi_ms for it in best))
        else:
            # Removals without any of the process's own lines may belong to several troubles. Only the earliest possible beginning of the first and the latest
            # possible beginning of the last are known.
            from_lo_ms, from_hi_ms = least(*(it.from_lo_ms for it in self.evidence)), greatest(*(it.from_hi_ms for it in self.evidence))
        to_hi_ms = least(*(it.to_hi_ms for it in best))
        if to_hi_ms is None or self.kinds & {"silent", "silent_unsure"}:
            return least(from_lo_ms, from_hi_ms), from_hi_ms, None, None
        last_ms = greatest(*(it.to_lo_ms for it in best))
        # If it was back before other evidence shows that it was not, it had recovered in between, and that is another trouble.
        to_lo_ms = least(*(it.to_lo_ms for it in best)) if last_ms is not None and last_ms > to_hi_ms else last_ms
        to_hi_ms = greatest(to_hi_ms, to_lo_ms)
        return least(from_lo_ms, from_hi_ms), from_hi_ms, least(greatest(from_hi_ms, to_lo_ms), to_hi_ms), to_hi_ms

    def _decisive(self) -> list[Evidence]:
        """Return the evidence of the kind of trouble, which is also the best evidence of its time."""
        for kind in ("cut_off", "paused"):
            if kind in self.kinds:
                return [it for it in self.evidence if it.kind == kind]
        return list(self.evidence)


def episodes(evidence: Iterable[Evidence]) -> Iterator[Episode]:
    """Yield the troubles of each process run."""
    runs: defaultdict[tuple[str, int, bool], list[Evidence]] = defaultdict(list)
    for it in evidence:
        runs[it.process_id, it.instance, it.is_placed].append(it)
    for its in runs.values():
        part: list[Evidence] = []
        until_ms: int | None = None
        for it in sorted(its, key=_in_time):
            if part and (until_ms is None or (it.own_from_ms is not None and it.own_from_ms >= until_ms)):
                yield Episode(part)
                part = []
            part.append(it)
            until_ms = greatest(until_ms, it.own_to_ms)
        yield Episode(part)


def _in_time(it: Evidence) -> Any:  # noqa: ANN401 (a sort key)
    return order([it.own_from_ms, it.own_to_ms, it.member_id or "", it.kind, it.group_id, list(there(it.witness))])
