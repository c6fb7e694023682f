"""Describe the basis of an answer about split brain, and why there is none if no ownership is known: "none found" alone would claim too much."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any

from forensics.failures import NOT_ALLOWED
from forensics.inventory.evidence import FORBIDDEN
from forensics.report.document import Block, Code, Para
from forensics.report.loggers import snippets
from forensics.report.resources import and_more
from forensics.report.window import PRINTED
from forensics.wording.formats import Clock, count, short_member, span

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.reference import Reference
    from forensics.report.window import Window

_KINDS = ("task", "connector", "partition")
#: Advice about truncated lines.
UNCUT = "Raise the limit of the program that wrote, shipped or copied them, or read the original logs."
#: Reasons for missing lines after the last line of a log.
_AT_END = ("coordinator_went_on", "ends_early", "ends_unassigned")
#: Codes of the reasons why nothing was examined which mean that nothing of Kafka was read.
_NO_KAFKA = ("no_files", "no_records", "not_kafka")
EXPECTED = (
    "logs of Kafka brokers (`server.log`, `controller.log`), Connect workers (`connect.log`) and clients (the application's log, with "
    "`org.apache.kafka` at INFO), as whole files, not filtered"
)
#: Reasons why nothing was examined, by code.
_WHY = {
    "no_files": "No log was read{unread}.",
    "no_records": "No line of the {files}{read} has a known layout: describe it with `--layout`; `forensics sql source_file` lists the files. "
    "For messages without their times and loggers: `forensics explain - < FILE`.",
    "not_kafka": "{is_none} from a logger of Kafka. `forensics explain - < FILE` also finds messages inside other text.",
    "no_group_lines": "Kafka or its clients wrote these logs, but {none}, in a known form, that a member joined a group or was assigned "
    "anything: the loggers that write this were off, their level was too high, the names are masked, or such lines are not in this part of the logs.",
    "no_coordinator": "No group formed in these logs: members waited for a coordinator and found none (see Findings), so none of them got an assignment.",
    "cut_lines": f"The lines of these logs are truncated, and what remains does not show assignments or running tasks. {UNCUT}",
    "brokers_only": "The logs are brokers' logs. They show when groups rebalanced, but not the assignments: these are in the logs of Connect workers "
    "and consumers.",
    "filtered": "These logs look like grep output, in which a missing line proves nothing. Send the whole files.",
    "several_members": "One log contains lines of several members, which cannot be distinguished. Keep the log of each process in its own file.",
    "no_info": "The logs name tasks, workers or consumers, but contain none of Kafka's INFO lines about tasks and assignments.",
    "no_assignments": "The logs name groups, but do not show which member held what, and for how long.",
    "nothing_assigned": "The assignments in these logs are empty: the members whose logs are here were given no task, connector or partition.",
    "share_groups": "All groups in these logs are share groups (KIP-932): their members share each partition by design, so no partition has a single owner.",
    "no_signs": "The logs show assignments, but no task, connector or consumer that then worked: they end too early, or begin too late.",
    "one_log": "Of the members of {owned}, there is only {only}; to compare two owners, the logs of both are needed. {known}",
    "group": "The logs do not show ownership in {groups}.",
    "window": "No ownership is known in the selected time. The whole case has {ownerships}.",
}


def examine(
    rows: Mapping[str, list[Row]],
    owned: list[Row],
    splits: list[Row],
    coverage: list[Row],
    window: Window,
    groups: Iterable[str],
    reference: Reference,
) -> Row:
    """Return the facts: what was examined, or why nothing was.

    Args:
        rows: all rows of the case's views.
        owned: the selected ownerships.
        splits: the selected pairs of owners.
        coverage: the selected rows of `coverage`.
        window: the selected time.
        groups: the selected groups; none: all.
        reference: the clocks.

    Returns:
        `examined`: also false if everything known about a group's members comes from one of them, and no coordinator shows that there were no others;
        `why`: a code, None if examined; `resources` by kind; numbers of `groups`, `owners` (processes), `members_without_log`, `members_unheard`
        (their log lacks their INFO lines), `logs_cut` (with truncated lines), `logs_damaged`, `files_unread` (not, or not completely), `ownerships` (of the whole case),
        `files`, `records`;
        `from_ts` and `to_ts` of the time that their logs cover; `gaps` and `gap_ms` in it; `groups_not_examined`;
        `groups_not_counted`: the logs do not show how many members they had;
        `elsewhere`: pairs of owners outside the selection, by verdict.
    """
    named = {o["process_id"] for o in owned}
    overlapping = [p for p in rows["process"] if p["process_id"] in named and window.touches(*PRINTED.of(p, reference))]
    # A log that ended before the selected time, or began after it, says nothing about it.
    owners = named - ({p["process_id"] for p in rows["process"]} - {p["process_id"] for p in overlapping})
    owned = [o for o in owned if o["process_id"] in owners]
    first, last = reference.reach(overlapping) or (None, None)
    silences = [
        (reference.time(c["process_id"], c["from_ts"]), reference.time(c["process_id"], c["to_ts"]))
        for c in coverage
        if is_silence(c) and c["process_id"] in owners and c["from_ts"] and c["to_ts"]
    ]
    selected = [(max(start, window.since or start), min(end, window.until or end)) for start, end in silences]
    gaps = sorted((start, end) for start, end in selected if start < end)
    # Time in which at least one log is silent.
    silent = timedelta(0)
    reached = None
    for start, end in gaps:
        silent += max(end - max(start, reached or start), timedelta(0))
        reached = max(end, reached or end)
    known = {g["group_id"] for name in ("generation", "member") for g in rows[name] if g.get("group_id")}
    seen = {o["group_id"] for o in rows["ownership"] if o.get("group_id")}
    files = [f for f in rows["source_file"] if f.get("status", "read") == "read" and f.get("kind", "log") == "log"]
    one_log = bool(owned) and _one_log(rows, owned)
    # Missing from filtered lines does not mean missing from the log; lines of members that cannot be distinguished are not compared.
    found = any(_number(splits, v) for v in ("proved", "undecided"))
    left_out = None if found else next((kind for kind in ("filtered", "several_members") if any(c["kind"] == kind for c in coverage)), None)
    why = (left_out or ("one_log" if one_log else None)) if owned else _why(rows, files, window, bool(list(groups)))
    return {
        "examined": bool(owned) and why is None,
        "why": why,
        "resources": dict(Counter(kind for kind, _, _ in {(o["resource_kind"], o.get("group_id"), o["resource"]) for o in owned})),
        "groups": len({o.get("group_id") for o in owned}),
        "owners": len(owners),
        "members_without_log": sum(members_of(c) for c in coverage if _is_member(c)),
        "members_unheard": sum(c["facts"]["client_count"] for c in coverage if c.get("code") == "no_client_info"),
        "logs_cut": sum(c["kind"] == "cut_lines" for c in coverage),
        "logs_damaged": sum(c["kind"] == "damaged" for c in coverage),
        "files_unread": len(outermost(f["path"] for f in unread(rows["source_file"]))),
        "ownerships": len(rows["ownership"]),
        "files": len(files),
        "records": sum(f["records"] or 0 for f in files),
        "from_ts": max(first, window.since) if first and window.since else first,
        "to_ts": min(last, window.until) if last and window.until else last,
        "gaps": len(gaps),
        "gap_ms": round(silent.total_seconds() * 1000),
        "groups_not_counted": _not_counted(rows["generation"], {o["group_id"] for o in owned if o.get("group_id")}),
        "groups_not_examined": sorted(g for g in known - seen if g in groups or not groups),
        "elsewhere": {v: n for v in ("proved", "undecided") if (n := _number(rows["split_brain"], v) - _number(splits, v))},
    }


def unread(files: Iterable[Row]) -> list[Row]:
    """Return the rows of `source_file` of files that could not be read, or not completely."""
    return [f for f in files if f.get("status") == "unreadable" or (f.get("status") == "read" and f.get("note"))]


def outermost(paths: Iterable[str]) -> list[str]:
    """Return paths without those inside another one, as in an archive."""
    found = set(paths)
    return sorted(path for path in found if not any(path.startswith(f"{other}/") for other in found))


def _not_counted(generations: Iterable[Row], groups: Iterable[str]) -> list[str]:
    """Return those groups for which neither a coordinator nor a leader shows how many members a generation had: there may have been more."""
    selected = set(groups)
    counted = {g["group_id"]: False for g in generations if g["group_id"] in selected}
    for generation in generations:
        if generation["group_id"] in counted and generation["is_count_told"]:
            counted[generation["group_id"]] = True
    return sorted(group for group, is_counted in counted.items() if not is_counted)


def _number(splits: Iterable[Row], verdict: str) -> int:
    return sum(s["verdict"] == verdict for s in splits)


def is_silence(c: Row) -> bool:
    """Return True if a row of `coverage` is a time in which its process printed nothing, and not possibly a clock step."""
    return c["kind"] == "gap" and (c.get("facts") or {}).get("silent_ms", 0) is not None


def _one_log(rows: Mapping[str, list[Row]], owned: list[Row]) -> bool:
    """Return True if no group has the logs of two members, and an owning group has no coordinator's log which shows that it had only one member."""
    here: dict[str, set[str]] = {}
    for row in (*rows["member"], *rows["ownership"]):
        if row.get("process_id") and row.get("group_id"):
            here.setdefault(row["group_id"], set()).add(row["process_id"])
    one = {(p["process_id"], other) for p in rows["process"] for other in p.get("same_process_ids") or ()}
    pairs = (pair for processes in here.values() for pair in combinations(sorted(processes), 2))
    if any(pair not in one for pair in pairs):
        return False
    of: dict[str, list[Row]] = {}
    for generation in rows["generation"]:
        of.setdefault(generation["group_id"], []).append(generation)
    # A worker or consumer without a group shares its work with no other member.
    owning = {o["group_id"] for o in owned if o.get("group_id")}
    return not all(of.get(group) and all(_alone(g) for g in of[group]) for group in owning)


def _alone(generation: Row) -> bool:
    """Return True if the coordinator's number of members shows that no other process has one."""
    members = generation["member_count"] if generation["seen_by_broker"] and generation["is_count_told"] else None
    return members is not None and members <= max(1, generation["seen_by_members"] or 0)


def _why(rows: Mapping[str, list[Row]], files: list[Row], window: Window, by_group: bool) -> str:
    if rows["ownership"]:
        return "group" if by_group else "window"
    if not any(f["lines"] for f in files):
        return "no_files"
    if not any(f["records"] for f in files):
        return "no_records"
    if not any((f["events"] or 0) + (f["unrecognised"] or 0) for f in files):
        return "not_kafka"
    if any(c["kind"] == "cut_lines" for c in rows["coverage"]):
        return "cut_lines"
    if not rows["generation"] and not rows["member"]:
        waited = any(p["role"] != "broker" for p in rows["process"]) and any(
            f["rule"] == "coordinator-unavailable" and json.loads(f["facts"] or "{}").get("never") for f in rows["finding"]
        )
        return "no_coordinator" if waited else "no_group_lines"
    if {g.get("group_protocol") for g in rows["generation"]} == {"share"}:
        return "share_groups"
    if any(c["kind"] == "several_members" for c in rows["coverage"]):
        return "several_members"
    if all(p["role"] == "broker" for p in rows["process"]):
        return "brokers_only"
    if any(c["kind"] == "no_info" for c in rows["coverage"]):
        return "no_info"
    shares = [share["assigned"] for share in rows["member_generation"] if share.get("assigned") is not None]
    return "no_signs" if any(shares) else "nothing_assigned" if shares else "no_assignments"


def logs_of_several(report: Report, what: str = "members") -> list[str]:
    """Return the logs that contain lines of several members, which cannot be distinguished and are left out; or of several brokers."""
    return sorted({c["process_id"] for c in report.coverage if c["kind"] == f"several_{what}" and c["process_id"]})


def missing_members(report: Report) -> list[Row]:
    """Return the rows of `coverage` of members that appear only in other logs."""
    return [c for c in report.coverage if _is_member(c)]


def lacks_half(report: Report) -> bool:
    """Return True if at least as many members have no log as processes that owned something have one."""
    return bool(report.examined["members_without_log"] >= report.examined["owners"] > 0)


def ended_logs(report: Report) -> list[Row]:
    """Return the rows of `coverage` of logs that end although their members may have gone on."""
    return [c for c in report.coverage if c["kind"] == "missing_lines" and (c.get("facts") or {}).get("why") in _AT_END]


def lost_logs(report: Report) -> list[str]:
    """Return the logs of members with a range in which what was printed is lost, which may hide an owner."""
    brokers = {p["process_id"] for p in report.case["processes"] if p["role"] == "broker"}
    return sorted({c["process_id"] for c in report.coverage if c.get("code") == "lost"} - brokers)


def filtered_logs(report: Report, kind: str = "filtered") -> list[str]:
    """Return the logs that contain only some of their lines, such as `grep` output; or (`unordered`) those whose lines are in another order."""
    return sorted({c["process_id"] for c in report.coverage if c["kind"] == kind and c["process_id"]})


def _named(report: Report) -> str:
    """Name the members without a log."""
    if shared := logs_of_several(report):
        whose = "contains lines of several members" if len(shared) == 1 else "each contain lines of several members"
        return f"{and_more(shared)} {whose}, which cannot be distinguished. Keep the log of each process in its own file."
    rows = missing_members(report)
    if members := sorted({short_member(c["process_id"].removeprefix("member ")) for c in rows}):
        number = sum(map(members_of, rows))
        who, whose = ("another member", "its log is") if number == 1 else (f"{number:,} other members", "their logs are")
        return f"Its lines name {who}, and {whose} missing: {and_more(members)}."
    if any((g["member_count"] or 0) > (g["seen_by_members"] or 0) for group in report.groups for g in group["generations"]):
        return "Its lines show that there were more members, whose logs are missing."
    counted = [(g["generation"], g["member_count"]) for group in report.groups for g in group["generations"] if g["is_count_told"]]
    if counted and all(number == 1 for _, number in counted):
        alone = sorted({generation for generation, _ in counted})
        which = f"generation {alone[0]}" if len(alone) == 1 else f"generations {alone[0]} to {alone[-1]}"
        return f"In {which} it was the only member; the logs do not show who was a member before or after."
    return "The logs do not show that there were no other members."


def members_of(c: Row) -> int:
    """Return the number of missing members in a row of `coverage`."""
    return (c.get("facts") or {}).get("members") or 1


def _is_member(c: Row) -> bool:
    return c["kind"] == "missing_process" and (c["process_id"] or "").startswith("member ")


def why_not_examined(report: Report) -> str:
    """Return in a sentence or two why nothing was examined."""
    facts = report.examined
    files = report.case["source_files"]
    notes = [f"{f['path']}: {f['note']}" if f.get("note") else str(f["path"]) for f in files]
    closed = any(f.get("note") == FORBIDDEN for f in files)
    values: dict[str, Any] = {
        "unread": (f" ({and_more(notes, 3)})" if notes else ": there are no files") + f". {NOT_ALLOWED.removesuffix('.')}" * closed,
        "files": count(facts["files"], "file"),
        "records": count(facts["records"], "record"),
        "none": f"none of the {count(facts['records'], 'record')} shows" if facts["records"] != 1 else "the only record does not show",
        "groups": ", ".join(report.filters.get("groups") or ()),
        "ownerships": count(facts["ownerships"], "ownership"),
        "only": "the log of one process" if facts["owners"] == 1 else f"one log for each of {count(facts['groups'], 'group')}",
        "owned": and_more(sorted({o["group_id"] for o in report.ownership if o.get("group_id")})),
        "known": _named(report),
        "read": f" ({and_more([f['path'] for f in files if f.get('status', 'read') == 'read'], 3)})",
    }
    read_from = f"{values['files']}{values['read']}"
    values["is_none"] = f"None of the {values['records']} in {read_from} is" if facts["records"] != 1 else f"The only record in {read_from} is not"
    return _WHY[facts["why"]].format(**values)


def is_without_kafka(report: Report) -> bool:
    """Return True if nothing of Kafka was read."""
    return report.examined["why"] in _NO_KAFKA and not report.findings


def is_without_group(report: Report) -> bool:
    """Return True if there are findings although no line shows a generation or an assignment: they are the answer, not what was not examined."""
    return report.examined["why"] == "no_group_lines" and any(f["severity"] != "note" for f in report.findings)


def not_examined(report: Report, clock: Clock) -> list[Block]:
    """Return blocks that say why nothing was examined, and what to turn on or to add."""
    if is_without_group(report) and {f["rule"] for f in report.findings if f["severity"] != "note"} == {"producer-fenced"}:
        return [Para("These logs are of clients in no group, such as producers, so there is nothing to own.", label="Why")]
    facts, text = report.examined, why_not_examined(report)
    if facts["why"] == "share_groups":
        return [Para(text, label="Why")]
    blocks: list[Block] = [
        Para(text + " It is unknown whether anything had two owners at the same time: this is not an all-clear.", label="Why", tone="warn")
    ]
    if facts["why"] == "one_log":
        blocks.append(Para(basis(report, clock).replace("Based on", "What is known:", 1)))
    if facts["why"] in ("window", "several_members", "cut_lines", "filtered"):
        return blocks
    logs = "the logs of all Connect workers and consumers, and of the brokers, from before the incident on."
    if is_without_kafka(report):
        logs = f"{EXPECTED}."
    waits = facts["why"] == "no_coordinator"
    blocks.append(Para(f"first, a coordinator. For other groups and times, add {logs}" if waits else f"add {logs}", label="What is needed"))
    if waits or facts["why"] in ("one_log", *_NO_KAFKA, "no_signs", "nothing_assigned"):
        return blocks
    blocks.append(
        Para(
            "these loggers log lines about groups at INFO; at a higher level, or with the root logger at WARN, these lines are missing.",
            label="Turn on",
        )
    )
    blocks += [Code(code, label) for label, code in snippets()]
    return blocks


def undated(report: Report) -> list[str]:
    """Return the logs without a line that has both date and time."""
    files = report.case["source_files"]
    return [f["path"] for f in files if f.get("status", "read") == "read" and f.get("kind") == "log" and f["records"] and f["first_ts"] is None]


def assumed_dates(report: Report) -> list[str]:
    """Return the logs whose times have no year, or no date: the last possible one before the file was changed is assumed."""
    return [f["path"] for f in report.case["source_files"] if f.get("time_by") in ("log_no_year", "collector_no_year") and f["records"]]


def silences(number: int, lasted_ms: float) -> str:
    """Return `a silence of 5.00 s` or `3 silences totalling 20.0 s`."""
    return f"a silence of {span(lasted_ms)}" if number == 1 else f"{count(number, 'silence')} totalling {span(lasted_ms)}"


def basis(report: Report, clock: Clock, *, but: bool = True) -> str:
    """Describe what was examined, in a sentence, and, with `but`, what was not."""
    facts = report.examined
    resources = and_more([count(facts["resources"][kind], kind) for kind in _KINDS if facts["resources"].get(kind)]) or "no resource"
    text = f"Based on {resources} of {count(facts['groups'], 'group')}, owned by {count(facts['owners'], 'process', 'processes')} with logs"
    if facts["from_ts"] and facts["to_ts"] and facts["to_ts"] >= facts["from_ts"]:
        length = span((facts["to_ts"] - facts["from_ts"]).total_seconds() * 1000)
        text += f", from {clock.at(facts['from_ts'])} to {clock.at(facts['to_ts'])} ({length})"
    if facts["gaps"]:
        text += f", with {silences(facts['gaps'], facts['gap_ms'])}"
    text += "."
    if not but:
        return text
    if missing := facts["members_without_log"]:
        text += f" There are no lines of {count(missing, 'member')}: what {'it' if missing == 1 else 'they'} owned is unknown."
    if unheard := facts["members_unheard"]:
        text += f" What {count(unheard, 'consumer')} owned is unknown: {'its log has' if unheard == 1 else 'their logs have'} no INFO lines."
    if (uncounted := facts["groups_not_counted"]) and not facts["members_without_log"]:
        text += f" The number of members of {and_more(uncounted, 6)} is unknown: there may have been more."
    if ended := ended_logs(report):
        text += f" The {'log' if len(ended) == 1 else 'logs'} of {and_more(sorted(c['process_id'] for c in ended), 3)} {'ends' if len(ended) == 1 else 'end'} early: what {'it' if len(ended) == 1 else 'they'} owned then is unknown."
    if cut := facts["logs_cut"]:
        text += f" The lines of {count(cut, 'log')} are truncated: the text after the cut is unknown."
    if damaged := facts["logs_damaged"]:
        text += f" {count(damaged, 'log')} {'has' if damaged == 1 else 'have'} damaged lines, which prove nothing."
    if others := facts["groups_not_examined"]:
        text += f" Not examined, because no line shows ownership: {'group' if len(others) == 1 else 'groups'} {and_more(others, 6)}."
    return text
