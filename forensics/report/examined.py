"""Say what an answer about split brain is based on, and why there is none if no ownership is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.examination.examined import REASONS, Reason
from forensics.logs import coverage_kinds
from forensics.report.document import Block, Code, Para
from forensics.report.loggers import snippets
from forensics.wording import sentences
from forensics.wording.formats import Clock, and_more, count, span

if TYPE_CHECKING:
    from forensics.report.model import Report, Row

_KINDS = ("task", "connector", "partition")
#: Advice about truncated lines.
UNCUT = "Raise the limit of the program that wrote, shipped or copied them, or read the original logs."
EXPECTED = (
    "logs of Kafka brokers (`server.log`, `controller.log`), Connect workers (`connect.log`) and clients (the application's log, with "
    "`org.apache.kafka` at INFO), as whole files, not filtered"
)


def nothing_examined(report: Report) -> bool:
    """Return True if an answer about split brain is requested and no ownership is known."""
    rules = report.filters["rules"]
    return not report.examined["examined"] and (not rules or any(rule.startswith("split-brain-") for rule in rules))


def missing_members(report: Report) -> list[Row]:
    """Return the rows of `coverage` of members that appear only in other logs."""
    return [c for c in report.coverage if coverage_kinds.is_missing_member(c)]


def lacks_half(report: Report) -> bool:
    """Return True if at least as many members have no log as processes that owned something have one."""
    return bool(report.examined["members_without_log"] >= report.examined["owners"] > 0)


def ended_logs(report: Report) -> list[Row]:
    """Return the rows of `coverage` of logs that end although their members may have gone on."""
    return [c for c in report.coverage if coverage_kinds.is_end(c)]


def lost_logs(report: Report) -> list[str]:
    """Return the logs of members with a range in which what was printed is lost, which may hide an owner."""
    brokers = {p["process_id"] for p in report.case["processes"] if p["role"] == "broker"}
    return sorted({c["process_id"] for c in report.coverage if coverage_kinds.is_lost(c)} - brokers)


def reason(report: Report) -> Reason | None:
    """Return the reason why nothing was examined; None if something was."""
    return REASONS.get(report.examined["why"])


def why_not_examined(report: Report) -> str:
    """Return in a sentence or two why nothing was examined."""
    (row,) = sentences.of_view("examined", [{**report.examined, "code": report.examined["why"]}])
    return str(row["note"])


def is_without_kafka(report: Report) -> bool:
    """Return True if nothing of Kafka was read."""
    why = reason(report)
    return why is not None and not why.is_of_kafka and not report.findings


def is_without_group(report: Report) -> bool:
    """Return True if there are findings although no line shows a generation or an assignment: they are the answer, not what was not examined."""
    return report.examined["why"] == "no_group_lines" and any(f["severity"] != "note" for f in report.findings)


def not_examined(report: Report, clock: Clock) -> list[Block]:
    """Return blocks that say why nothing was examined, and what to turn on or to add."""
    if is_without_group(report) and {f["rule"] for f in report.findings if f["severity"] != "note"} == {"producer-fenced"}:
        return [Para("These logs are of clients in no group, such as producers, so there is nothing to own.", label="Why")]
    code, text = report.examined["why"], why_not_examined(report)
    if code == "share_groups":
        return [Para(text, label="Why")]
    why = REASONS[code]
    blocks: list[Block] = [
        Para(text + " It is unknown whether anything had two owners at the same time: this is not an all-clear.", label="Why", tone="warn")
    ]
    if code == "one_log":
        blocks.append(Para(basis(report, clock).replace("Based on", "What is known:", 1)))
    if not why.needs:
        return blocks
    logs = "the logs of all Connect workers and consumers, and of the brokers, from before the incident on."
    if is_without_kafka(report):
        logs = f"{EXPECTED}."
    is_waiting = why.needs == "coordinator"
    needed = f"first, a coordinator. For other groups and times, add {logs}" if is_waiting else f"add {logs}"
    blocks.append(Para(needed, label="What is needed"))
    if not why.settings:
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
