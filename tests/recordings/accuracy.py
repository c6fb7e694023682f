# SPDX-License-Identifier: Apache-2.0
"""The text of a score: its table row, the notes below the table, and the page `docs/accuracy.md`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from causes import Causes
from handovers import handover_lines
from libraries import library_lines
from posted import posted_lines
from scoring import Score
from truth import Recording
from verdicts import Verdicts
from witnessed import witnessed_lines


@dataclass
class Result:
    """All comparisons of one recording."""

    recording: Recording
    generations: Score = field(default_factory=Score)
    ownership: Score = field(default_factory=Score)
    holdings: Score = field(default_factory=Score)
    clocks: Score = field(default_factory=Score)
    producers: Score = field(default_factory=Score)
    streams: Score = field(default_factory=Score)
    failures: Score = field(default_factory=Score)
    verdicts: Verdicts = field(default_factory=Verdicts)
    causes: Causes = field(default_factory=Causes)
    widest_ms: float | None = None
    missing: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    case: Path | None = None

    @property
    def false_verdicts(self) -> list[str]:
        """A sentence for each verdict that contradicts the ground truth."""
        return [f"false proved: {x}" for x in self.verdicts.false_proved] + [f"false refuted: {x}" for x in self.verdicts.false_refuted]

    @property
    def faults(self) -> list[str]:
        """A sentence for each verdict and root cause that contradicts the ground truth."""
        return self.false_verdicts + [f"false cause: {x}" for x in self.causes.false]


@dataclass
class Thinned:
    """The result of one recording whose logs were thinned.

    Attributes:
        recording: its name.
        shares: percentage of ownership samples that is known for certain, by the kind of thinning; `` is the complete logs. None: nothing to compare.
        proved: number of proved rows of `split_brain`, by the kind of thinning.
        faults: a sentence for each statement that contradicts the ground truth or the complete logs.
    """

    recording: str
    shares: dict[str, float | None] = field(default_factory=dict)
    proved: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


#: Maximum number of differences of one kind that are listed.
SHOWN = 6

HEADINGS = [
    *("recording", "generations", "ownership", "unknowable", "true overlaps", "verdicts"),
    *("false proved", "false refuted", "missed", "clocks", "widest bounds"),
    *("producers", "stream tasks", "failures", "causes", "left open", "false causes"),
]


def cells(result: Result) -> list[str]:
    """Return one row of the table as plain text."""
    g, o, v, c, k = result.generations, result.ownership, result.verdicts, result.clocks, result.causes
    return [
        result.recording.name,
        f"{g.right} of {g.total}" if g.total else "-",
        f"{o.percent:.2f} %" if o.percent is not None else "-",
        f"{100 * o.unknowable / (o.total + o.unknowable):.1f} %" if o.total else "-",
        str(v.true_overlaps),
        ", ".join(f"{n} {what}" for what, n in sorted(v.counts.items())) or "-",
        str(len(v.false_proved)),
        str(len(v.false_refuted)),
        str(len(v.missed)),
        f"{c.right} of {c.total}" if c.total else "-",
        f"{result.widest_ms:.0f} ms" if result.widest_ms is not None else "-",
        f"{result.producers.right} of {result.producers.total}" if result.producers.total else "-",
        f"{result.streams.percent:.2f} %" if result.streams.percent is not None else "-",
        f"{result.failures.right} of {result.failures.total}" if result.failures.total else "-",
        f"{k.right} of {k.total}" if k.total else "-",
        str(k.open),
        str(len(k.false)),
    ]


def notes(result: Result) -> list[str]:
    """Return everything about a recording that needs a person's attention."""
    found = [*result.faults, *(f"missed: {x}" for x in result.verdicts.missed), *(f"missed cause: {x}" for x in result.causes.missed)]
    for title, wrong in (
        ("generation", result.generations.wrong),
        ("clock", result.clocks.wrong),
        ("ownership", result.ownership.wrong),
        ("partition", result.holdings.wrong),
        ("producer", result.producers.wrong),
        ("stream task", result.streams.wrong),
        ("failed task", result.failures.wrong),
    ):
        found += [f"{title}: {x}" for x in wrong[:SHOWN]]
        found += [f"{title}: {len(wrong) - SHOWN} more of the kind"] if len(wrong) > SHOWN else []
    found += [f"missing: {x}" for x in result.missing]
    return found


#: Kinds of thinning by their names on the page.
WAYS = {
    "": "complete",
    "1%": "1 % of lines",
    "5%": "5 % of lines",
    "20%": "20 % of lines",
    "5s": "5 s",
    "20s": "20 s",
    "loggers": "one logger in ten",
    "clients": "INFO of clients",
}


def thinned_lines(results: list[Thinned]) -> list[str]:
    """Return the section of the page on thinned logs."""
    ways = [way for way in WAYS if any(way in r.shares for r in results)]
    lines = [
        "## With lines removed",
        "",
        "The logs of each recording were analysed again with lines removed at random: single lines, all lines within a few seconds of each file, entire loggers,",
        "or all INFO lines of clients. Each cell shows the percentage of ownership samples that is still known for certain, and the number of proved",
        "overlaps. *False* counts statements that contradict the ground truth or the complete logs: a proof that the complete logs do not give, a",
        "proof that became a refutation or the reverse, or a certain ownership that did not exist.",
        "",
        "| " + " | ".join(["recording", *(WAYS[way] for way in ways), "false"]) + " |",
        "|" + "---|" * (len(ways) + 2),
    ]
    for r in results:
        shown = [f"{'-' if r.shares[way] is None else f'{r.shares[way]:.1f} %'}, {r.proved[way]}" for way in ways]
        lines.append("| " + " | ".join([r.recording, *shown, str(len(r.faults))]) + " |")
    return [*lines, "", *(f"- {r.recording}: {fault}" for r in results for fault in r.faults), *([""] if any(r.faults for r in results) else [])]


def markdown(tables_of: dict[str, list[Result]], thinned: list[Thinned]) -> str:
    """Return the page `docs/accuracy.md`, without names of paths or machines."""
    releases = sorted({r.recording.version for results in tables_of.values() for r in results}, key=lambda v: [int(n) for n in v.split(".")])
    lines = [
        "<!-- Written by `python tests/recordings/score.py RECORDINGS --write docs/accuracy.md`; do not edit by hand. -->",
        "# Accuracy on real Kafka clusters",
        "",
        f"Real brokers, Connect workers, consumers, producers and Streams applications of {len(releases)} Kafka releases ({releases[0]} to {releases[-1]}) were",
        "run with injected faults: killed, frozen and partitioned processes, lost coordinators, skewed clocks. The ground truth was recorded independently of",
        "their logs: an external sampler checked the task threads of every worker five times a second, clients recorded their own assignments, records and",
        "epochs, and the coordinator's storage was dumped. The program reads only the logs, and its views are then compared with the ground truth.",
        "`make lab` makes such recordings.",
        "",
        "| column | meaning |",
        "|---|---|",
        "| generations | how many of the generations that have members in the coordinator's storage the view `generation` also contains; differences in "
        "leader or number of members are listed below the table |",
        "| ownership | sampled points (time, worker, task) for which the view `ownership` is right about whether the task's thread existed; a point inside "
        "bounds wider than 2 s counts as wrong, because the view is too imprecise there |",
        "| unknowable | points excluded from that percentage: the process was frozen, or dead and not yet restarted. The logs cannot show which of the two, "
        "so the bounds are necessarily wide |",
        "| true overlaps | periods of at least 0.4 s in which two processes of a group had threads of the same task, or were assigned the same partition |",
        "| verdicts | rows of `split_brain`, by kind and verdict |",
        "| false proved | proofs without a true overlap at that time (tolerance 0.25 s), or that claim a longer certain overlap than there was |",
        "| false refuted | refutations of an overlap that lasted at least 0.4 s |",
        "| missed | true overlaps of at least 1 s that no row proves or leaves undecided |",
        "| clocks | bounds of `clock_offset` that contain the true skew; *widest bounds* is the width of the widest |",
        "| producers | how many epochs of transactional producers the view `producer_session` has, with process and time |",
        "| stream tasks | sampled points (time, instance of Streams, task, role) for which the view `stream_task` is right |",
        "| failures | how many changes of a task to FAILED in answers of the REST API the view `task_failure` has, with worker, time and innermost "
        "exception |",
        "| causes | injected faults (a process frozen, killed, partitioned or restarted, a broker stopped, an invalid setting, ...) "
        "whose root cause the view `incident` identifies, with its subject, and with bounds that contain the times at which the fault began and ended |",
        "| left open | other faults for which `incident` names several possible causes, including the true one |",
        "| false causes | incidents that name one or more causes, none of which is true |",
        "",
        "`work` is compared with threads that ran and had not yet closed their consumer or producer; frozen time is never work. Releases before",
        "2.3 do not name their task threads, so there is no ground truth for tasks; `-` means that nothing could be compared.",
        "",
    ]
    for title, results in tables_of.items():
        lines += [f"## {title}", ""]
        if title.startswith("Without the logs of broker"):
            lines += [
                "If a process logs nothing about its end, only its coordinator's log can show whether it was killed or whether the lines of its shutdown are",
                "missing, and when the group lost it. Without that log such causes are left open, and more pairs of owners stay undecided.",
                "",
            ]
        lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
        lines += ["| " + " | ".join(cells(r)) + " |" for r in results]
        wrong = [(r.recording.name, note) for r in results for note in notes(r)]
        lines += ["", *(f"- {name}: {note}" for name, note in wrong), ""] if wrong else [""]
    lines += thinned_lines(thinned) if thinned else []
    lines += handover_lines()
    lines += posted_lines()
    lines += library_lines()
    lines += witnessed_lines()
    lines += [
        "## How to reproduce it",
        "",
        "```",
        "python tests/recordings/score.py RECORDINGS                       # all recordings below a directory",
        "python tests/recordings/score.py RECORDINGS worker_frozen         # recordings whose names contain a word",
        "python tests/recordings/score.py RECORDINGS --withhold broker     # without the brokers' logs",
        "python tests/recordings/thinning.py RECORDINGS --out FOLDER       # with lines removed, and the result for every copy",
        "FORENSICS_RECORDINGS=RECORDINGS pytest -m slow tests/recordings/test_recordings.py",
        "```",
        "",
    ]
    return "\n".join(lines)
