"""Read outputs of `kafka-topics` and `kafka-consumer-groups`, even both in one file, with the commands and times that users save with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from forensics.snapshots.consumer_groups import GroupTables
from forensics.snapshots.observation import Item, Line, Strange, moment_of
from forensics.snapshots.topics import read_topic_line

#: Prompts, notes of the tools, warnings of a JVM or of log4j: not part of the output proper.
_TALK = re.compile(
    r"\s*(?:[$#>%] ?.*|\S*[$#>] \S.*|Note: .*|WARN\w*[: ].*|OpenJDK .*|Picked up .*|SLF4J.*|log4j.*|\[\d{4}-.*|[=*~_+-]{3,}.*|Error: .*|Error while .*|"
    r"(?:\S*/)?kafka-[\w-]+(?:\.sh|\.bat)?(?: .*)?)"
)


def read_tools(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield topics, partitions, groups and members from such output."""
    tables, ts = GroupTables(), None
    for line in lines:
        topic = read_topic_line(line, ts)
        found = topic or tables.read(line, ts)
        if found is True or not line.text.strip():
            continue
        if found is not False:
            yield found
        elif (moment := moment_of(line.text)) is not None:
            ts = moment
        elif not _TALK.fullmatch(line.text):
            yield Strange(line.number, line.text)
