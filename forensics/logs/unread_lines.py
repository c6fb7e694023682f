"""Find damage in lines: bytes that are not text, names that contradict all other lines, and lines that were truncated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow.compute as pc

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs

#: Bytes that are not text.
_NO_TEXT = "[\\x00-\\x08\\x0E-\\x1A\\x{FFFD}]"
#: Characters that are stored of a longer line.
_STORED_MOST = 2000
_FIRST_LINE = r"(?P<line>^[^\r\n]*)"
_FIRST_WORD = r"(?:^|\]:? )(?P<word>[A-Za-z][^ ]*)"
_CUT_LEAST = 10
_WORDS_LEAST = 4


@dataclass(frozen=True)
class TruncatedLines:
    """Lines of a log that were truncated at the same length, and when the first and last unrecognised line was printed."""

    process_id: str
    from_ms: int | None
    to_ms: int | None
    lines: int


def truncated_lines(inputs: Inputs) -> Iterator[TruncatedLines]:
    """Yield logs whose lines are truncated.

    The longest of these have equal lengths, whatever their message, with or without a trailing blank.

    Args:
        inputs: rows of `unrecognised_row`.
    """
    lines = inputs.table("unrecognised_row", ["process_id", "ts", "logger", "text"], pc.field("level") == "INFO")
    lines = lines.append_column("line", pc.struct_field(pc.extract_regex(lines["text"], _FIRST_LINE), "line"))
    # Longer lines are not stored completely.
    lines = lines.filter(pc.less(pc.utf8_length(lines["line"]), _STORED_MOST))
    lines = lines.append_column("length", pc.add(pc.utf8_length(lines["line"]), pc.fill_null(pc.utf8_length(lines["logger"]), 0)))
    logs = lines.group_by("process_id").aggregate([("length", "max"), ("length", "count"), ("ts", "min"), ("ts", "max")])
    for log in logs.filter(pc.greater_equal(logs["length_count"], _CUT_LEAST)).to_pylist():
        of_log = pc.and_(pc.equal(lines["process_id"], log["process_id"]), pc.greater_equal(lines["length"], log["length_max"] - 1))
        longest = lines["line"].filter(of_log)
        words = pc.struct_field(pc.extract_regex(longest, _FIRST_WORD), "word")
        if len(longest) >= max(_CUT_LEAST, log["length_count"] / 2) and pc.count_distinct(pc.fill_null(words, "")).as_py() >= _WORDS_LEAST:
            yield TruncatedLines(log["process_id"], log["ts_min"], log["ts_max"], len(longest))


def damaged_lines(inputs: Inputs) -> Counter[str]:
    """Return the number of damaged lines by process.

    Args:
        inputs: rows of `damaged_line` and `unrecognised_row`.
    """
    unread = inputs.table("unrecognised_row", ["process_id"], pc.match_substring_regex(pc.field("text"), _NO_TEXT))
    found = Counter(row["process_id"] for row in inputs.rows("damaged_line"))
    found.update(unread["process_id"].to_pylist())
    return found
