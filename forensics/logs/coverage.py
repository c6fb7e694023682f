"""Compute the view `coverage`: which time the log of each process covers, what it lacks there, and which logs are missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from forensics.logs.complete_logs import complete_client_logs
from forensics.logs.coverage_kinds import KINDS, kind_of
from forensics.logs.events import events
from forensics.logs.filtered_logs import filtered_logs
from forensics.logs.missing_processes import missing_coordinators, missing_members
from forensics.logs.unread_lines import damaged_lines, truncated_lines
from forensics.relations.conditions import one_of, one_of_numbers
from forensics.relations.missing import first, greatest, least, minus, order, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

CODES = frozenset(KINDS)
_FACTS = [
    "lives",
    "silent_ms",
    "why",
    "literal",
    "from_line",
    "to_line",
    "path",
    "reason",
    "client",
    "members",
    "brokers",
    "broker_ids",
    "line_count",
    "group_id",
    "generation",
    "clients",
    "client_count",
    "of_process",
    "equal_lines",
    "all_lines",
    "own_lines",
    "pairs",
    "resources",
    "generations",
    "all_generations",
    "loaded_by",
]
#: Why lines are missing after a log that ends before its membership, by how it is known that it went on.
_BEYOND = {"unassigned": "ends_unassigned", "continued": "coordinator_went_on"}
_NAMED_MOST = 3


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `coverage`."""
    logs = _Logs(inputs)
    kinds = (
        _covered,
        _gaps,
        _contradictions,
        _lost,
        _memberships_beyond,
        _ends_between_lines,
        _beginnings,
        _selections,
        _unreadable,
        _missing,
        _mixtures,
        _unread,
        _without_info,
        _copies,
        _not_compared,
    )
    return [row for kind in kinds for row in kind(inputs, logs)]


class _Logs:
    """What several kinds of rows ask about whole logs."""

    def __init__(self, inputs: Inputs) -> None:
        self.copied = {row["process_id"] for row in inputs.rows("copied_log")}
        self.filtered = filtered_logs(inputs)
        self.of_members = {row["process_id"] for row in inputs.rows("shared_log") if (row["member_count"] or 0) > 0}
        begun = [life for life in inputs.rows("process_life") if life["instance"] == 0 and life["process_id"] not in self.filtered]
        complete = complete_client_logs(inputs) if begun else set()
        #: The first runs whose logs begin after their process started.
        self.late = [life for life in begun if life["process_id"] not in complete or life["is_worker"] or life["is_broker"]]


def _row(process_id: str, code: str, from_ms: int | None = None, to_ms: int | None = None, **facts: object) -> Row:
    return {
        "process_id": process_id,
        "from_ts": from_ms,
        "to_ts": to_ms,
        "kind": kind_of(code),
        "note": None,
        "code": code,
        "facts": dict.fromkeys(_FACTS) | facts,
    }


def _covered(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    for process_id, lives in _by_process(inputs.rows("process_life")):
        first_ms, last_ms = least(*(life["first_ms"] for life in lives)), greatest(*(life["last_ms"] for life in lives))
        yield _row(process_id, "covered", first_ms, last_ms, lives=len(lives))


def _gaps(inputs: Inputs, logs: _Logs) -> Iterator[Row]:
    """Yield long silences: inside the ranges of a log, and between its ranges and files."""
    steps = {row["process_id"]: row["step"] for row in inputs.rows("clock_offset") if row["is_island_reference"]}
    ordinals: dict[str, int | None] = {}
    for row in inputs.rows("evidence_file"):
        ordinals[row["file_id"]] = greatest(ordinals.get(row["file_id"]), row["ordinal"])
    ranges = [row for row in inputs.rows("range_row") if row["process_id"] not in logs.copied]
    silences = [(row["process_id"], gap["from_ts"], gap["to_ts"]) for row in ranges for gap in row["gaps"] or ()]
    for process_id, its in _by_process(row for row in ranges if row["first_ts"] is not None):
        last_ms = None
        for row in sorted(its, key=lambda row: (order(ordinals.get(row["file_id"])), row["range_start"])):
            silences.append((process_id, last_ms, row["first_ts"]))
            last_ms = greatest(last_ms, row["last_ts"])
    for process_id, from_ms, to_ms in silences:
        silent_ms = minus(to_ms, from_ms)
        if silent_ms is not None and silent_ms >= inputs.knobs.gap_ms:
            step_ms = (steps.get(process_id) or {}).get("least_ms")
            # If the clock stepped, that length is unknown.
            yield _row(process_id, "gap", from_ms, to_ms, silent_ms=silent_ms if step_ms is None or silent_ms < step_ms else None)


def _contradictions(inputs: Inputs, logs: _Logs) -> Iterator[Row]:
    """Yield gaps that the lines around them show. Of several nested ones, the narrowest shows where the lines are missing."""
    # In a log of several members, contradictions come from the members; a filtered log has its own row.
    holes = [row for row in inputs.rows("log_hole") if row["process_id"] not in logs.of_members | logs.filtered]
    narrowest = []
    for _, its in groupby(sorted(holes, key=_run), key=_run):
        inner_pos = None
        for hole in sorted(its, key=lambda hole: (hole["to_pos"], hole["from_pos"])):
            if inner_pos is None or hole["from_pos"] > inner_pos:
                narrowest.append(hole)
            inner_pos = greatest(inner_pos, hole["from_pos"])
    if not narrowest:
        return
    columns = ["event_id", "process_id", "stream_pos", "ts"]
    shown = {row["event_id"]: row for row in events(inputs, columns, one_of("event_id", (hole["event_id"] for hole in narrowest)))}
    positions = one_of_numbers("stream_pos", (hole["from_pos"] for hole in narrowest))
    before = {(row["process_id"], row["stream_pos"]): row["ts"] for row in events(inputs, columns, positions)}
    gone_on = defaultdict(list)
    for row in inputs.rows("silent_member"):
        if row["how"] == "continued":
            gone_on[row["process_id"]].append(row["last_ms"])
    found: dict[tuple[str, int | None, int | None], str] = {}
    for hole in narrowest:
        line = shown.get(hole["event_id"])
        if line is None or line["process_id"] != hole["process_id"]:
            continue
        # If the log ends with the line that shows the gap, the missing lines are after it.
        if hole["why"] == "coordinator_ahead" and any(up_to(last_ms, line["ts"]) for last_ms in gone_on[hole["process_id"]]):
            continue
        key = (hole["process_id"], before.get((hole["process_id"], hole["from_pos"])), line["ts"])
        found[key] = min(hole["why"], found.get(key, hole["why"]))
    for (process_id, from_ms, to_ms), why in found.items():
        yield _row(process_id, "missing_lines", from_ms, to_ms, why=why)


def _run(row: Row) -> tuple[str, int]:
    return row["process_id"], row["instance"]


def _lost(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    for row in inputs.rows("lost_range"):
        yield _row(
            row["process_id"],
            "lost",
            row["from_ms"],
            row["to_ms"],
            why=row["why"],
            from_line=row["from_line"],
            to_line=row["to_line"],
            path=row["path"],
        )


def _memberships_beyond(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    """Yield logs that end before a membership: of a log's memberships, the one that is best known to have gone on."""
    beyond: defaultdict[tuple[str, int | None], list[Row]] = defaultdict(list)
    for row in inputs.rows("silent_member"):
        if row["how"] != "gone" or row["may_be_back"]:
            beyond[row["process_id"], row["last_ms"]].append(row)
    for (process_id, last_ms), its in beyond.items():
        best = min(its, key=lambda row: (row["how"], order(row["group_id"])))
        until_ms = greatest(*(row["until_ms"] for row in its))
        is_later = until_ms is not None and last_ms is not None and until_ms > last_ms
        facts = {"why": _BEYOND.get(best["how"], "ends_early"), "group_id": best["group_id"], "generation": best["generation"]}
        yield _row(process_id, "missing_lines", last_ms, until_ms if is_later else None, **facts)


def _ends_between_lines(inputs: Inputs, logs: _Logs) -> Iterator[Row]:
    """Yield runs that ended somewhere between two of the remaining lines of a filtered log, unless one of them shows the end."""
    for life in inputs.rows("process_life"):
        if life["process_id"] in logs.filtered and life["next_start_ms"] is not None and life["ending_id"] is None:
            yield _row(life["process_id"], "missing_lines", life["last_ms"], life["next_start_ms"], why="started_again")


def _beginnings(_: Inputs, logs: _Logs) -> Iterator[Row]:
    """Yield logs that begin after their process started."""
    for life in logs.late:
        yield _row(life["process_id"], "truncated", life["first_ms"], life["first_ms"])


def _selections(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    for row in inputs.rows("filtered_log"):
        if row["why"] in ("unordered", "sorted"):
            yield _row(row["process_id"], "unordered", row["from_ms"], row["to_ms"], why=row["why"])
        else:
            yield _row(row["process_id"], "filtered", row["from_ms"], row["to_ms"], why=row["why"], literal=row["literal"])


def _unreadable(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    for row in inputs.rows("evidence_file"):
        if row["status"] == "unreadable" or (row["status"] == "read" and row["note"] is not None):
            yield _row(first(row["process_id"], row["path"]), "unreadable", path=row["path"], reason=row["note"])


def _missing(inputs: Inputs, logs: _Logs) -> Iterator[Row]:
    for member in missing_members(inputs, {life["process_id"] for life in logs.late}):
        yield _row(member.process_id, "missing_member", member.from_ms, member.to_ms, members=member.members, group_id=member.group_id)
    for lost in missing_coordinators(inputs):
        facts = {"group_id": lost.group_id, "generations": lost.generations, "all_generations": lost.all_generations, "loaded_by": lost.loaded_by}
        yield _row(f"coordinator of {lost.group_id}", "missing_coordinator", lost.from_ms, lost.to_ms, **facts)


def _mixtures(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    for row in inputs.rows("shared_log"):
        if row["client"] is not None or row["member_count"] > 1:
            facts = {"members": row["member_count"], "group_id": row["group_id"], "client": row["client"]}
            yield _row(row["process_id"], "several_members", row["from_ms"], row["to_ms"], **facts)
        if (row["broker_count"] or 0) > 0:
            yield _row(row["process_id"], "several_brokers", row["from_ms"], row["to_ms"], brokers=row["broker_count"], broker_ids=row["broker_ids"])


def _unread(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    for cut in truncated_lines(inputs):
        yield _row(cut.process_id, "cut_lines", cut.from_ms, cut.to_ms, line_count=cut.lines)
    for process_id, lines in damaged_lines(inputs).items():
        yield _row(process_id, "damaged", line_count=lines)


def _without_info(inputs: Inputs, logs: _Logs) -> Iterator[Row]:
    """Yield logs that lack INFO lines: of all work, or only of some consumers."""
    for process_id, its in _by_process(row for row in inputs.rows("quiet_log") if row["process_id"] not in logs.filtered):
        work = [row for row in its if row["client"] is None]
        for row in work:
            yield _row(process_id, "no_info", row["from_ms"], row["to_ms"])
        if not work:
            from_ms, to_ms = least(*(row["from_ms"] for row in its)), greatest(*(row["to_ms"] for row in its))
            clients = ", ".join(sorted(row["client"] for row in its)[:_NAMED_MOST])
            yield _row(process_id, "no_client_info", from_ms, to_ms, clients=clients, client_count=len(its))


def _copies(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    for row in inputs.rows("copied_log"):
        # For a log whose times are read in another zone, the number of equal lines is unknown.
        own_lines = minus(row["line_count"], row["equal_lines"]) if row["equal_lines"] else None
        facts = {"of_process": row["of_process"], "equal_lines": row["equal_lines"], "all_lines": row["line_count"], "own_lines": own_lines}
        yield _row(row["process_id"], "copy", row["from_ms"], row["to_ms"], **facts)


def _not_compared(inputs: Inputs, _: _Logs) -> Iterator[Row]:
    """Yield processes whose ownerships have too many possible counterparts."""
    left_out = {row["a_id"]: 0 for row in inputs.rows("ownership_pair", ["a_id", "left_out"]) if (row["left_out"] or 0) > 0}
    if not left_out:
        return
    for row in inputs.rows("ownership_pair", ["a_id", "left_out"]):
        if row["a_id"] in left_out:
            left_out[row["a_id"]] += max(row["left_out"] or 0, 0)
    pairs: Counter[tuple[str, str]] = Counter()
    resources = defaultdict(set)
    for row in inputs.rows("ownership", ["ownership_id", "process_id", "group_id", "resource"]):
        if row["ownership_id"] in left_out:
            owner = row["process_id"], row["group_id"]
            pairs[owner] += left_out[row["ownership_id"]]
            resources[owner].add(row["resource"])
    for (process_id, group_id), number in pairs.items():
        named = ", ".join(sorted(resources[process_id, group_id])[:_NAMED_MOST])
        yield _row(process_id, "many_owners", pairs=number, group_id=group_id, resources=named)


def _by_process(found: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each process."""
    its: defaultdict[str, list[Row]] = defaultdict(list)
    for row in found:
        its[row["process_id"]].append(row)
    yield from its.items()
