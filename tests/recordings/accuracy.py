# SPDX-License-Identifier: Apache-2.0
"""What is said about a score: the row of the table, the notes below it, the page `docs/accuracy.md`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from causes import Causes
from scoring import Score
from truth import Recording
from verdicts import Verdicts


@dataclass
class Result:
    """All comparisons of one recording."""

    recording: Recording
    generations: Score = field(default_factory=Score)
    ownership: Score = field(default_factory=Score)
    clocks: Score = field(default_factory=Score)
    verdicts: Verdicts = field(default_factory=Verdicts)
    causes: Causes = field(default_factory=Causes)
    widest_ms: float | None = None
    missing: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    case: Path | None = None

    @property
    def false_verdicts(self) -> list[str]:
        """Sentences for each verdict that the truth contradicts."""
        return [f"false proved: {x}" for x in self.verdicts.false_proved] + [f"false refuted: {x}" for x in self.verdicts.false_refuted]

    @property
    def faults(self) -> list[str]:
        """Sentences for each false word: verdicts and root causes that the truth contradicts."""
        return self.false_verdicts + [f"false cause: {x}" for x in self.causes.false]


@dataclass
class Thinned:
    """What became of one recording's rows when its logs lost lines.

    Attributes:
        recording: its name.
        shares: share of ownership samples that is told for certain, in percent, by the way of thinning; `` is the whole logs. None: nothing to compare.
        proved: proved rows of `split_brain`, by the way of thinning.
        faults: sentences for each false word, against the truth and against the whole logs.
    """

    recording: str
    shares: dict[str, float | None] = field(default_factory=dict)
    proved: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


#: Differences of one kind that are written out.
SHOWN = 6

HEADINGS = [
    *("recording", "generations", "ownership", "unknowable", "true overlaps", "verdicts"),
    *("false proved", "false refuted", "missed", "clocks", "widest bounds"),
    *("causes", "left open", "false causes"),
]


def cells(result: Result) -> list[str]:
    """One row of the table, as plain text."""
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
        f"{k.right} of {k.total}" if k.total else "-",
        str(k.open),
        str(len(k.false)),
    ]


def notes(result: Result) -> list[str]:
    """Everything about a recording that a person should look at."""
    found = [*result.faults, *(f"missed: {x}" for x in result.verdicts.missed), *(f"missed cause: {x}" for x in result.causes.missed)]
    for title, wrong in (("generation", result.generations.wrong), ("clock", result.clocks.wrong), ("ownership", result.ownership.wrong)):
        found += [f"{title}: {x}" for x in wrong[:SHOWN]]
        found += [f"{title}: {len(wrong) - SHOWN} more of the kind"] if len(wrong) > SHOWN else []
    found += [f"missing: {x}" for x in result.missing]
    return found


#: Ways of thinning, as the page calls them.
WAYS = {
    "": "whole",
    "1%": "1 % of lines",
    "5%": "5 % of lines",
    "20%": "20 % of lines",
    "5s": "5 s",
    "20s": "20 s",
    "loggers": "one logger in ten",
    "clients": "INFO of clients",
}


def thinned_lines(results: list[Thinned]) -> list[str]:
    """The part of the page about logs that lost lines."""
    ways = [way for way in WAYS if any(way in r.shares for r in results)]
    lines = [
        "## With lines taken away",
        "",
        "Each recording's logs once more, with lines taken away at random in several ways: single lines, all lines of some seconds of each file, whole",
        "loggers, and everything that clients say at INFO. A cell is the share of ownership samples that is still told for certain, and the number of",
        "proved overlaps. *False* counts what the truth or the whole logs contradict: a proof that the whole logs do not give, a proof that became a",
        "refutation or the other way round, an ownership called certain that was none.",
        "",
        "| " + " | ".join(["recording", *(WAYS[way] for way in ways), "false"]) + " |",
        "|" + "---|" * (len(ways) + 2),
    ]
    for r in results:
        shown = [f"{'-' if r.shares[way] is None else f'{r.shares[way]:.1f} %'}, {r.proved[way]}" for way in ways]
        lines.append("| " + " | ".join([r.recording, *shown, str(len(r.faults))]) + " |")
    return [*lines, "", *(f"- {r.recording}: {fault}" for r in results for fault in r.faults), *([""] if any(r.faults for r in results) else [])]


def markdown(tables_of: dict[str, list[Result]], thinned: list[Thinned]) -> str:
    """The page `docs/accuracy.md`: nothing in it names a path or a machine."""
    lines = [
        "<!-- Written by `python tests/recordings/score.py RECORDINGS --write docs/accuracy.md`; do not edit by hand. -->",
        "# Accuracy on a real Kafka",
        "",
        "Real brokers, Connect workers and consumers of ten releases (1.1 to 4.3) were run with injected faults: killed, frozen and cut-off",
        "processes, lost coordinators, skewed clocks. Beside their logs the truth was recorded: a sampler outside the processes looked at the",
        "task threads of every worker five times a second, consumers said themselves what they were assigned and consumed, and the coordinator's",
        "own store was dumped. Only the logs go into the program; its views are then compared with that truth.",
        "",
        "| column | what it compares |",
        "|---|---|",
        "| generations | generations with members in the coordinator's store that view `generation` has too; where its leader or its number of "
        "members differs, that is listed below the table |",
        "| ownership | sampled points (time, worker, task) for which view `ownership` says rightly whether the task's thread existed; inside "
        "bounds wider than 2 s it says too little and counts as wrong |",
        "| unknowable | points left out of that share: the process was frozen, or dead and not yet restarted, and the bounds are wide there, "
        "as they must be: silence does not tell which of the two |",
        "| true overlaps | times of 0.4 s or more in which two processes of a group truly had threads of one task, or were assigned one partition |",
        "| verdicts | rows of `split_brain`, by kind and verdict |",
        "| false proved | proofs without a true overlap at that time (0.25 s allowed), or that call a time certain which was not |",
        "| false refuted | refutations of an overlap that truly lasted 0.4 s or more |",
        "| missed | true overlaps of 1 s or more that no row proves or leaves undecided |",
        "| clocks | bounds of `clock_offset` that hold the true skew; *widest* is the widest of them |",
        "| causes | things done to the recording (a process frozen, killed, cut off or restarted, a broker stopped, a setting that cannot work, ...) "
        "whose root cause view `incident` names, with its subject, and with bounds that hold the moments at which it was done and undone |",
        "| left open | further ones of which `incident` says that the lines leave several causes, the true one among them |",
        "| false causes | incidents that name a cause, or several, of which none was there |",
        "",
        "`work` is compared with threads that ran and had not yet closed their consumer or producer; frozen time is never work. Releases before",
        "2.3 do not name their task threads, so there is no truth for tasks; `-` says that nothing could be compared.",
        "",
    ]
    for title, results in tables_of.items():
        lines += [f"## {title}", ""]
        if title.startswith("Without the logs of broker"):
            lines += [
                "Whether a process that prints nothing of its end was killed, or stopped in lines that are not here, only its coordinator's log can tell; and",
                "only that log shows when the group lost it. Without it such causes are left open, and more pairs of owners undecided.",
                "",
            ]
        lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
        lines += ["| " + " | ".join(cells(r)) + " |" for r in results]
        wrong = [(r.recording.name, note) for r in results for note in notes(r)]
        lines += ["", *(f"- {name}: {note}" for name, note in wrong), ""] if wrong else [""]
    lines += thinned_lines(thinned) if thinned else []
    lines += [
        "## How to run it",
        "",
        "```",
        "python tests/recordings/score.py RECORDINGS                       # all recordings below a directory",
        "python tests/recordings/score.py RECORDINGS worker_frozen         # those whose name contains a word",
        "python tests/recordings/score.py RECORDINGS --withhold broker     # without the brokers' logs",
        "python tests/recordings/thinning.py RECORDINGS --out FOLDER       # with lines taken away, and what became of every copy",
        "FORENSICS_RECORDINGS=RECORDINGS pytest -m slow tests/test_recordings.py",
        "```",
        "",
    ]
    return "\n".join(lines)
