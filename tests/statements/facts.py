# SPDX-License-Identifier: Apache-2.0
"""Log statements of Kafka's releases, read from tables made of its sources (to 3.9) and of its released byte code (4.0 on).

A folder of facts holds `core_info_and_above.csv` and `templates_all_releases.csv` (one row a template, with the first and last release
that have it) and `templates_3.9_to_4.3.csv` (one row a template and release).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LEVELS = ("info", "warn", "error", "fatal")

#: Classes whose statements are printed by the loggers of other classes: subclasses, or the class that hands its logger over.
PRINTED_BY = {
    "AbstractCoordinator": (
        "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator",
        "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator",
    ),
    "AbstractHeartbeatRequestManager": (
        "org.apache.kafka.clients.consumer.internals.ConsumerHeartbeatRequestManager",
        "org.apache.kafka.clients.consumer.internals.ShareHeartbeatRequestManager",
    ),
    "AbstractMembershipManager": (
        "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager",
        "org.apache.kafka.clients.consumer.internals.ShareMembershipManager",
    ),
    "AbstractConfig": (
        "org.apache.kafka.clients.consumer.ConsumerConfig",
        "org.apache.kafka.clients.producer.ProducerConfig",
        "org.apache.kafka.connect.runtime.distributed.DistributedConfig",
        "kafka.server.KafkaConfig",
    ),
    "StreamsRebalanceListener": ("org.apache.kafka.streams.processor.internals.StreamThread",),
    "DefaultStreamsRebalanceListener": ("org.apache.kafka.streams.processor.internals.StreamThread",),
    "AutoTopicCreationManager": ("kafka.server.DefaultAutoTopicCreationManager",),
}
#: Inner classes with a logger of their own; all others print with the logger of the class around them.
OWN_LOGGER = {"EventProcessorThread", "SendThread"}
#: Texts that the byte code holds only the beginning of; they are no statements by themselves.
CUT = {
    "",
    "creating herder for",
    "delivery.timeout.ms",
    "Failed to get plugin version for",
    "Going to cleanup internal topics:",
    "Going to create internal topics:",
}
#: A base class of many threads, each with its own logger.
_ANY_THREAD = "org.apache.kafka.server.util.ShutdownableThread"
#: Releases up to which a class printed with its own logger although it is in PRINTED_BY.
_OWN_UP_TO = {"AbstractCoordinator": "2.8.2"}


@dataclass(frozen=True)
class Hole:
    """A value in a message: the expression that gives it; "" (or "d" for a number) if the facts do not contain it."""

    expression: str


@dataclass(frozen=True)
class Statement:
    """One call of a logger.

    Attributes:
        side: broker, client, connect or streams.
        loggers: full names that may stand in the log.
        owner: simple name of the outermost class that holds the call.
        level: info, warn, error or fatal.
        pieces: text and holes of the message.
        method: where the call stands.
        releases: that have it.
    """

    side: str
    loggers: tuple[str, ...]
    owner: str
    level: str
    pieces: tuple[str | Hole, ...]
    method: str
    releases: tuple[str, ...]

    @property
    def template(self) -> str:
        """The message with `{}` for every hole."""
        return "".join(p if isinstance(p, str) else "{}" for p in self.pieces)


def version_key(release: str) -> tuple[int, ...]:
    """Return a key that sorts releases by number; a development snapshot comes before its release."""
    numbers = tuple(int(n) for n in re.findall(r"\d+", release))
    return (*numbers, -1) if release.endswith("-dev") else (*numbers, 0)


def read_facts(folder: Path) -> tuple[list[Statement], list[Statement]]:
    """Statements at INFO and above of the core classes, and of all other classes that the facts know.

    Args:
        folder: the folder of facts.
    """
    core_rows = _rows(folder / "core_info_and_above.csv")
    all_rows = _rows(folder / "templates_all_releases.csv")
    new_rows = _rows(folder / "templates_3.9_to_4.3.csv")
    tags = {r[k] for r in (*core_rows, *all_rows) for k in ("first_tag", "last_tag")}
    releases = sorted((t for t in tags if not t.endswith("-dev")), key=version_key)
    core = [s for row in core_rows for s in _old_statements(row, releases)]
    known = {(s.owner, s.template) for s in core}
    others = [s for row in all_rows for s in _old_statements(row, releases) if (s.owner, s.template) not in known]
    owners = {s.owner for s in core}
    for statement in _new_statements(new_rows, core + others):
        of_core = statement.owner in owners or statement.loggers[0].startswith("org.apache.kafka.coordinator.")
        (core if of_core else others).append(statement)
    return core, others


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as text:
        return [row for row in csv.DictReader(text) if row["level"] in LEVELS]


def _old_statements(row: dict[str, str], releases: Iterable[str]) -> Iterator[Statement]:
    first, last = version_key(row["first_tag"]), version_key(row["last_tag"])
    within = tuple(r for r in releases if first <= version_key(r) <= last)
    if not within:
        return
    arguments = [a.strip() for a in row["args_at_last"].split("||")[0].split(" | ")] if row["args_at_last"] else []
    pieces = tuple(parse(row["template"], arguments))
    owner = re.sub(r"\s*\(.*|<runtime subclass of |>", "", row["class"]).rsplit(".", 1)[-1].split("$")[0]
    written = re.findall(r"[\w.$]*\w\.[\w.$]+", row["logger_fqcn"])
    if owner == "MultiThreadedEventProcessor" and row["method_at_last"] in ("beginShutdown", "close"):
        written = written[:1]  # the rest is printed by the thread's own logger
    if owner in PRINTED_BY and owner not in _OWN_UP_TO:
        yield Statement(row["side"], PRINTED_BY[owner], owner, row["level"], pieces, row["method_at_last"], within)
        return
    limit = version_key(_OWN_UP_TO.get(owner, "0.0.0"))
    own = tuple(r for r in within if version_key(r) <= limit) if owner in PRINTED_BY else within
    later = tuple(r for r in within if r not in own)
    if own:
        yield Statement(row["side"], (written[-1],), owner, row["level"], pieces, row["method_at_last"], own)
    if later:
        yield Statement(row["side"], PRINTED_BY[owner], owner, row["level"], pieces, row["method_at_last"], later)


def _new_statements(rows: Iterable[dict[str, str]], old: Iterable[Statement]) -> Iterator[Statement]:
    """Statements of byte code; what their holes hold is taken from the same statement of an older source, where there is one."""
    pieces_of = {(s.owner, s.template): s.pieces for s in old}
    beginnings = {(s.owner, s.template[:20]) for s in old}
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        template = row["template"].replace("\\'", "'").replace("\\n", "\n").replace("\\t", "\t")
        found.setdefault((row["class_fqcn"], row["level"], template, row["method"]), []).append(row["release"])
    for (name, level, template, method), releases in found.items():
        outer = name.split("$")[0]
        inner = next((i for i in reversed(name.split("$")) if not i.isdigit()), "")
        owner = outer.rsplit(".", 1)[-1]
        # A statement that is put together with + is cut after its first text in the byte code of 3.9; the source of 3.9 has it whole.
        wanted = tuple(r for r in releases if r != "3.9.1" or (owner, template[:20]) not in beginnings)
        if not wanted or template in CUT:
            continue
        if outer == _ANY_THREAD:
            loggers: tuple[str, ...] = ("kafka.server.DelayedOperationPurgatory$ExpiredOperationReaper",)
        elif inner in OWN_LOGGER and "$" in name:
            loggers = (name,)
        else:
            loggers = PRINTED_BY.get(owner, (outer,))
        pieces = pieces_of.get((owner, template)) or tuple(parse(template, []))
        yield Statement(_side(name), loggers, owner, level, pieces, method, wanted)


def _side(name: str) -> str:
    for side in ("connect", "streams", "clients"):
        if name.startswith(f"org.apache.kafka.{side}"):
            return side.removesuffix("s") if side == "clients" else side
    return "client" if name.startswith("org.apache.kafka.common.") else "broker"


def parse(template: str, arguments: list[str]) -> Iterator[str | Hole]:
    """Text and holes of a template: `{}` takes the next argument, `%s` and `%d` are unknown, `${expression}` holds its own.

    Args:
        template: as written in the facts.
        arguments: expressions of the call's arguments.
    """
    template = template.replace("\\n", "\n").replace("\\t", "\t")
    rest = iter(arguments)
    at, text = 0, ""
    while at < len(template):
        end = at + 1
        hole = None
        if template.startswith("${", at):
            end, depth = at + 2, 1
            while end < len(template) and depth:
                depth += {"{": 1, "}": -1}.get(template[end], 0)
                end += 1
            hole = Hole(template[at + 2 : end - 1])
        elif template[at : at + 2] in ("{}", "%s", "%d"):
            # The arguments of String.format are not in the facts: those of the row are the logger's.
            end, hole = at + 2, Hole(next(rest, "") if template[at] == "{" else template[at : at + 2].strip("%s"))
        if hole is None:
            text += template[at]
        else:
            if text:
                yield text
            yield hole
            text = ""
        at = end
    if text:
        yield text
