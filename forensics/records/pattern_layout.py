"""Convert PatternLayout strings of log4j 1, log4j 2 and logback to regular expressions.

A layout has two ends: the text before the message (`head`, at the beginning of a record's first line) and the text after it (`tail`, at the end of
that line, or of a later one if the message has several). A config dump ends in ` (logger:line)` two hundred lines below its head.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from forensics.errors import UsageError
from forensics.records.timestamps import TimeFormat

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "SEVERE", "CONFIG", "FINE", "FINER", "FINEST", "NOTICE")
#: Characters of a logger's name. Classes are written out (no `\\s`, no `\\w`), because these expressions also run on bytes, in RE2.
LOGGER = r"[^ \t()\[\]{}:,=/|\"'0-9][^ \t()\[\]{}:,=/|\"']*"
#: One conversion: %-5.40name{option}{option}, an escaped character, or a property that Spring inserts (${PID:- }).
_CONVERSION = re.compile(
    r"%(?P<pad>-?[0-9]*)(?:\.-?(?P<cut>[0-9]+))?(?:(?P<name>[A-Za-z]+)|(?P<group>\()|(?P<percent>%))|\\(?P<esc>.)|(?P<text>[^%\\])"
)
_LOOKUP = re.compile(r"\$\{(?P<name>[^{}:]*)(?::-?(?P<default>[^{}]*))?\}")
_LOOKUPS = {"PID": "%pid", "LOG_DATEFORMAT_PATTERN": "ANY", "LOG_LEVEL_PATTERN": "%5p", "LOG_EXCEPTION_CONVERSION_WORD": "%ex"}

_DATE = {"d", "date"}
_LEVEL = {"p", "level", "le"}
_THREAD = {"t", "tn", "thread", "threadName"}
_LOGGER_NAMES = {"c", "lo", "logger", "C", "class"}
_LINE = {"L", "line"}
_MESSAGE = {"m", "msg", "message"}
_NOTHING = {
    "n",
    "ex",
    "exception",
    "throwable",
    "rEx",
    "xEx",
    "wEx",
    "wex",
    "xThrowable",
    "rThrowable",
    "nopex",
    "nopexception",
    "notEmpty",
    "rootException",
}
_GROUPING = {
    "highlight",
    "style",
    "clr",
    "color",
    "encode",
    "enc",
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "gray",
    "faint",
}
_WORDS = {
    "M",
    "method",
    "F",
    "file",
    "x",
    "NDC",
    "pid",
    "processId",
    "T",
    "tid",
    "threadId",
    "tp",
    "r",
    "relative",
    "sn",
    "sequenceNumber",
    "hostName",
}
_FREE = {
    "X",
    "mdc",
    "MDC",
    "marker",
    "K",
    "map",
    "MAP",
    "cn",
    "contextName",
    "property",
    "u",
    "uuid",
    "caller",
    "l",
    "location",
    "kvp",
    "applicationName",
    "correlationId",
    "esb",
}


@dataclass(frozen=True)
class CompiledPattern:
    """The two ends of a PatternLayout string, as regular expressions with the groups ts, level, thread, logger, line and context.

    Attributes:
        head: matches at the beginning of a record's first line.
        tail: matches at the end of a line; empty if nothing follows the message.
        time: format of the time, None if the layout has none.
    """

    head: str
    tail: str
    time: TimeFormat | None


def compile_pattern(pattern: str) -> CompiledPattern:
    """Compile a PatternLayout string.

    Args:
        pattern: a pattern of log4j.properties, log4j2.yaml or logback.xml. `%d{ANY}` reads any ISO 8601 time.

    Raises:
        UsageError: it has no message, or an unknown conversion.
    """
    compiler = _Compiler()
    parts, rest = compiler.run(_LOOKUP.sub(lambda m: _LOOKUPS.get(m["name"], m["default"] or ""), pattern))
    if rest is None:
        raise UsageError("A layout pattern needs the message (%m).", where=pattern, fix="For example: [%d] %p %m (%c:%L)%n")
    return CompiledPattern("".join(parts), "".join(rest), compiler.time)


class _Compiler:
    def __init__(self) -> None:
        self.time: TimeFormat | None = None
        self._named: set[str] = set()

    def run(self, pattern: str) -> tuple[list[str], list[str] | None]:
        """Return regular expressions before and after the message; None for the latter if there is no message."""
        head: list[str] = []
        tail: list[str] | None = None
        at = 0
        while at < len(pattern):
            match = _CONVERSION.match(pattern, at)
            if match is None:
                raise UsageError("A layout pattern ends in the middle of a conversion.", where=pattern[at:])
            at = match.end()
            parts = head if tail is None else tail
            if match["text"] is not None or match["percent"]:
                parts.append(re.escape(match["text"] or "%"))
            elif match["esc"]:
                parts.append({"t": r"\t", "n": "", "r": ""}.get(match["esc"], re.escape(match["esc"])))
            else:
                options, at = _options(pattern, at) if match["name"] else ([], at)
                name = match["name"] or ""
                if match["group"] or (name in _GROUPING and pattern[at : at + 1] == "("):
                    body, at = _balanced(pattern, at if match["group"] else at + 1)
                    inner = self.run(body)
                    parts.extend(_padded("".join(inner[0]), match["pad"]))
                    tail = inner[1] if inner[1] is not None and tail is None else tail
                    _, at = _options(pattern, at)
                elif name in _GROUPING:
                    inner = self.run(options[0] if options else "")
                    parts.extend(inner[0])
                    tail = inner[1] if inner[1] is not None and tail is None else tail
                elif name in _MESSAGE:
                    tail = []
                    if parts and parts[-1] == _CONNECT_CONTEXT:
                        parts.pop()  # stays with the message, as a prefix
                else:
                    parts.extend(self._conversion(name, options, match["pad"], parts[-1] if parts else ""))
        return head, tail

    def _conversion(self, name: str, options: list[str], pad: str, before: str) -> list[str]:
        if name in _DATE:
            time = TimeFormat(options[0] if options else "")
            if self.time is None:
                self.time = time
                return [f"(?P<ts>{time.pattern})"]
            return [f"(?:{time.pattern})"]
        if name in _LEVEL:
            return [self._group("level", _level(pad))]
        if name in _THREAD:
            return _padded(self._group("thread", _THREADS.get(before, ".+?")), pad)
        if name in _LOGGER_NAMES:
            return _padded(self._group("logger", LOGGER), pad)
        if name in _LINE:
            return _padded(self._group("line", r"[0-9]+|\?"), pad)
        if name in _NOTHING:
            return []
        if name in ("X", "mdc", "MDC") and options and options[0].startswith("connector.context"):
            return [_CONNECT_CONTEXT]
        if name in _WORDS:
            return _padded(r"[^ \t\]\[]*?", pad)
        if name in _FREE:
            return _padded(r"[^|\[\]]*?", pad)
        raise UsageError(
            f"Unknown conversion `%{name}` in a layout pattern.",
            fix="Replace it with %X, which reads anything up to the next character of the pattern.",
        )

    def _group(self, name: str, body: str) -> str:
        if name in self._named:
            return f"(?:{body})"
        self._named.add(name)
        return f"(?P<{name}>{body})"


_CONNECT_CONTEXT = r"(?:\[(?P<context>[^|\[\]]+\|[^\[\]]*)\] )?"


#: A thread by the character before it: names of pools may contain the same brackets, and a truncated name only one of a pair.
_THREADS = {r"\(": r"(?:[^()]|\([^()]*\))+?\)??", r"\[": r"(?:[^\[\]]|\[[^\[\]]*\])+?\]??"}


def _level(pad: str) -> str:
    """Return an alternation of all levels, each with its padding, so that blanks of the message stay with it."""
    width = abs(int(pad)) if pad.strip("-") else 0
    words = [w.ljust(width) if pad.startswith("-") else w.rjust(width) for w in (*LEVELS, *(w.lower() for w in LEVELS))]
    return "|".join(sorted({re.escape(w) for w in words}, key=lambda w: (-len(w), w)))


def _padded(body: str, pad: str) -> list[str]:
    if not pad.strip("-"):
        return [body]
    return [body, " *"] if pad.startswith("-") else [" *", body]


def _options(pattern: str, at: int) -> tuple[list[str], int]:
    """Return the `{...}` options at position `at`, including nested braces."""
    options = []
    while pattern[at : at + 1] == "{":
        depth, end = 1, at + 1
        while end < len(pattern) and depth:
            depth += {"{": 1, "}": -1}.get(pattern[end], 0)
            end += 1
        options.append(pattern[at + 1 : end - 1])
        at = end
    return options, at


def _balanced(pattern: str, at: int) -> tuple[str, int]:
    """Return the text up to the parenthesis that closes the one before `at`."""
    depth, end = 1, at
    while end < len(pattern) and depth:
        if pattern[end] == "\\":
            end += 1
        else:
            depth += {"(": 1, ")": -1}.get(pattern[end], 0)
        end += 1
    return pattern[at : end - 1], end
