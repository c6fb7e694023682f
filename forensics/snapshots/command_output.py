"""Read outputs of `kafka-topics`, `kafka-consumer-groups` and `kafka-transactions`, even several in one file, with the commands and times that users save with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from forensics.snapshots.consumer_groups import GroupTables, is_header
from forensics.snapshots.observation import Item, Line, Strange
from forensics.snapshots.output_times import time_in_line, watched_command
from forensics.snapshots.topics import read_topic_line
from forensics.snapshots.transactions import TransactionTables

if TYPE_CHECKING:
    from forensics.records.timestamps import Moment

#: Prompts, notes of the tools, warnings of a JVM or of log4j: not part of the output proper.
_TALK = re.compile(
    r"\s*(?:[$#>%] ?.*|\S*[$#>] \S.*|Note: .*|WARN\w*[: ].*|OpenJDK .*|Picked up .*|SLF4J.*|log4j.*|\[\d{4}-.*|[=*~_+-]{3,}.*|Error: .*|Error while .*|"
    r"(?:\S*/)?kafka-[\w-]+(?:\.sh|\.bat)?(?: .*)?)"
)
#: Captures that identify a row of an output.
_ROW = ("group_id", "topic", "partition", "member_id", "transactional_id", "producer_id", "epoch")


def read_tools(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield topics, partitions, groups, members and transactions from such output.

    A time belongs to the output that follows it. An output that repeats a row is another one, whose time is unknown until a line shows it.
    """
    tables, transactions = GroupTables(), TransactionTables()
    moment: Moment | None = None
    output, seen = 0, set[tuple[object, ...]]()
    for line in lines:
        if (shown := time_in_line(line.text)) is not None:
            moment, output = shown, output + bool(seen)
            seen.clear()
            command = watched_command(line.text)
            _ = tables.see(command) or transactions.see(command)
            continue
        if tables.see(line.text) or transactions.see(line.text) or not line.text.strip():
            continue
        if is_header(line.text.rstrip()):
            transactions.end()
        found = read_topic_line(line) or transactions.read(line) or tables.read(line)
        if found is True:
            continue
        if found is not False:
            key = found.event, *(found.captures.get(name) for name in _ROW)
            if key in seen:
                moment, output = None, output + 1
                seen.clear()
            seen.add(key)
            yield replace(found, moment=moment, output=output)
        elif not _TALK.fullmatch(line.text):
            yield Strange(line.number, line.text)
