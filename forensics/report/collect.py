"""Describe which evidence is missing and how to get it: which log, from when on, with which loggers, by which command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from forensics.examination.examined import outermost, unread
from forensics.inventory.evidence import FORBIDDEN
from forensics.logs import coverage_kinds
from forensics.report import loggers
from forensics.report.collection import deciding
from forensics.report.examined import ended_logs, missing_members, reason
from forensics.report.missing_evidence import ENDS
from forensics.report.resources import in_words
from forensics.wording.formats import and_more, iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from forensics.report.model import Report, Row

_MAX_REQUESTS = 5
#: The end and the beginning of text that make a name between them part of a longer one.
_CONTINUED, _CONTINUES = re.compile(r"[\w./-]\Z"), re.compile(r"[\w/-]|\.\w")
#: Parts of notes on files that are whole, and say nothing for another reason.
_WHOLE = ("no place in time", "have ages and no times", "is larger than")
#: Beginning of the names of sink tasks' consumers.
_OF_TASK = "connector-consumer-"


def rows(report: Report, undecided: Sequence[Row]) -> list[str]:
    """Return sentences that ask for evidence, the most decisive first, at most five.

    Args:
        report: what was found; `coverage` names the processes whose logs are missing.
        undecided: pairs of owners whose `missing` says which evidence would decide them.
    """
    found = list(
        dict.fromkeys(
            [
                *_copies(report),
                *_coordinators(report),
                *_members(report),
                *_ends(report),
                *_levels(report),
                *_asked(report, undecided),
                *_witnesses(report),
            ]
        )
    )
    return found[:_MAX_REQUESTS]


def meanwhile(report: Report) -> str:
    """Return how to ask the running system for the current owners until the logs are available; empty if no group is known, or none has owners."""
    if report.examined["why"] == "share_groups":
        return ""
    groups = [g["group_id"] for g in report.groups if g["group_id"]]
    workers = {g["group_id"] for g in report.groups for x in g["generations"] if x["protocol_type"] == "connect"}
    commands = []
    if workers:
        commands.append("On each worker, `curl http://WORKER:8083/connectors?expand=status` shows the tasks that it considers its own.")
    if others := [g for g in groups if g not in workers]:
        commands.append(f"`kafka-consumer-groups.sh --describe --members --verbose --group {others[0]}` shows who owns what now.")
    return " ".join(commands)


def _copies(report: Report) -> Iterator[str]:
    """Ask for what is damaged to be copied again (an archive, or else the files themselves), and for permission to read what is not."""
    files = {f["path"]: f["note"] for f in unread(report.case["source_files"])}
    if closed := sorted(path for path, note in files.items() if note == FORBIDDEN):
        yield f"{and_more(closed, 3)}, as a user who may read {'it' if len(closed) == 1 else 'them'} (permission denied)"
    faulty = {path for path, note in files.items() if not any(part in (note or "") for part in _WHOLE)} - set(closed) | set(
        coverage_kinds.processes(report.coverage, "damaged")
    )
    if whole := outermost(faulty):
        yield f"{and_more(whole, 3)} again from {'its' if len(whole) == 1 else 'their'} source: {'this copy is' if len(whole) == 1 else 'these copies are'} damaged"


def _coordinators(report: Report) -> Iterator[str]:
    groups = sorted({coverage_kinds.group_of(c) for c in report.coverage if coverage_kinds.is_missing_coordinator(c)})
    if groups:
        yield f"server.log of the broker that coordinates {and_more(groups, 3)} ({loggers.BROKER[0]} or {loggers.BROKER[1]} at INFO)"


def _members(report: Report) -> Iterator[str]:
    is_later = _of_ended_logs(report)
    found = [c for c in missing_members(report) if not is_later(c)]
    if not found:
        return
    # A static member may be called by its number alone.
    names = sorted({c["process_id"] if name.isdigit() else name for c in found for name in [coverage_kinds.member_of(c)]})
    since = min((c["from_ts"] for c in found if c["from_ts"]), default=None)
    how = f": `kubectl logs POD --since-time={(iso(since) or '')[:19]}Z`, or the file of each host" if since else ""
    yield f"the logs of {and_more(names, 4)}{how}"


def _of_ended_logs(report: Report) -> Callable[[Row], bool]:
    """Return a function that is True for a member that is probably in the missing lines of a log that had ended before.

    The member has the same client or host as one in that log, or it is of a worker's task.
    """
    ended: dict[str, datetime] = {}
    for e in ended_logs(report):
        if e["from_ts"]:
            ended[e["process_id"]] = min(e["from_ts"], ended.get(e["process_id"], e["from_ts"]))
    first: dict[tuple[str, str | None], datetime] = {}
    for m in (m for group in report.groups for m in group["members"] if m["process_id"] in ended):
        for key in (("client", m["client_id"]), ("host", m["client_host"])):
            first[key] = min(ended[m["process_id"]], first.get(key, ended[m["process_id"]]))
    earliest = min(ended.values(), default=None)

    def is_later(c: Row) -> bool:
        name, _, host = coverage_kinds.member_of(c).partition(" at ")
        since = [first.get(("client", name)), first.get(("host", host)) if host else None, earliest if name.startswith(_OF_TASK) else None]
        return any(at < c["from_ts"] for at in since if at and c["from_ts"])

    return is_later


def _ends(report: Report) -> Iterator[str]:
    for c in ended_logs(report):
        since = f": `kubectl logs POD --since-time={(iso(c['from_ts']) or '')[:19]}Z`, or the whole file" if c["from_ts"] else ""
        yield f"the lines of {c['process_id']} after its last one{since}"


def _witnesses(report: Report) -> Iterator[str]:
    if found := deciding(report):
        yield found


def _levels(report: Report) -> Iterator[str]:
    why = reason(report)
    if why is not None and why.levels:
        text = f"the same logs with {', '.join(loggers.CLIENT[:2])} and {loggers.WORKER[0]} at INFO (`forensics report --full` prints the settings), "
        yield text + "or, from other client libraries, the debug log of groups (librdkafka: `debug=cgrp`)"


def _asked(report: Report, undecided: Sequence[Row]) -> Iterator[str]:
    """Yield what undecided pairs ask for, the most frequent first; not the ends of logs, and logs of coordinators, that are asked for anyway."""
    ended = {c["process_id"] for c in ended_logs(report)}
    coordinated = {coverage_kinds.group_of(c) for c in report.coverage if coverage_kinds.is_missing_coordinator(c)}
    asked_for = [*((code, owner, ended) for code, owner in ENDS), ("coordinator_log", "group_id", coordinated)]
    asking = [
        s
        for s in undecided
        if not any(code == next(iter((s.get("facts") or {}).get("evidence") or ()), "") and s[of] in already for code, of, already in asked_for)
    ]
    yield from merged([(part, s) for s in asking for part in _parts(s["missing"] or "")])[:2]


def merged(wanted: Sequence[tuple[str, Row]]) -> list[str]:
    """Return requests for evidence, the most frequent first; those that differ only in the resource are one, which names all of them.

    Args:
        wanted: requests, each with the pair of owners that it would decide.
    """
    of: dict[tuple[str, ...], list[tuple[str, Row]]] = {}
    for text, pair in wanted:
        of.setdefault(_around(text, pair["resource"]), []).append((text, pair))

    def one(around: tuple[str, ...], same: Sequence[tuple[str, Row]]) -> str:
        pairs = [pair for _, pair in same]
        resources = sorted({pair["resource"] for pair in pairs})
        return same[0][0] if len(resources) == 1 else in_words(resources, pairs).join(around)

    return [one(*request) for request in sorted(of.items(), key=lambda request: -len(request[1]))]


def _around(text: str, name: str) -> tuple[str, ...]:
    """Return the parts of a text around each occurrence of a name that is not part of a longer one."""
    first, *others = text.split(name)
    found = [first]
    for other in others:
        if _CONTINUED.search(found[-1]) or _CONTINUES.match(other):
            found[-1] += name + other
        else:
            found.append(other)
    return tuple(found)


def _parts(missing: str) -> list[str]:
    """Split a list such as `1. a; 2. b`; return a single sentence unchanged."""
    return [part.split(". ", 1)[-1] if part[:1].isdigit() else part for part in missing.split("; ") if part][:1]
