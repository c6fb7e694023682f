# SPDX-License-Identifier: Apache-2.0
"""One log in many layouts: a small PatternLayout, JSON encoders, exports, and what collectors, terminals and pastes put around lines.

A family is a name and a function from records to bytes, with what the layout keeps of a record: its resolution, whether it says time, level, logger, line.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

MICROS = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Line:
    """A record to print.

    Attributes:
        ts: UTC, whole milliseconds.
        level, logger, source_line, thread: what a layout may print.
        message: maybe of several lines, with its context prefixes; a stack trace behind it.
        trace: stack trace, empty without one.
    """

    ts: datetime
    level: str
    logger: str
    source_line: int
    message: str
    trace: str = ""
    thread: str = "main"

    @property
    def millis(self) -> int:
        """Epoch milliseconds."""
        return (self.ts - EPOCH) // (1000 * MICROS)


@dataclass(frozen=True)
class Family:
    """A way to print a log.

    Attributes:
        render: records to a file's bytes.
        layout: pattern that the user tells, empty when the program must see it by itself.
        resolution_ms: of the printed times.
        time, level, logger, line: whether they are printed.
        thread: whether threads are, whole.
        process: the text after `#` in process_id.
    """

    name: str
    render: Callable[[Sequence[Line]], bytes]
    layout: str = ""
    resolution_ms: int = 1
    time: bool = True
    level: bool = True
    logger: bool = True
    line: bool = False
    process: str = ""

    def __str__(self) -> str:
        return self.name


def abbreviated(logger: str, width: int) -> str:
    """Logback's `%logger{width}`: packages from the left to one letter until it fits; 0 gives the class alone."""
    *packages, name = logger.split(".")
    if not width:
        return name
    for i in range(len(packages)):
        if len(".".join([*packages, name])) <= width:
            break
        packages[i] = packages[i][:1]
    return ".".join([*packages, name])


_JAVA = {
    "yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "a": "%p", "EEE": "%a",
}  # fmt: skip
_NAMED = {"": "yyyy-MM-dd HH:mm:ss,SSS", "ISO8601": "yyyy-MM-dd HH:mm:ss,SSS", "DEFAULT": "yyyy-MM-dd HH:mm:ss,SSS", "ABSOLUTE": "HH:mm:ss,SSS",
          "DATE": "dd MMM yyyy HH:mm:ss,SSS", "COMPACT": "yyyyMMddHHmmssSSS"}  # fmt: skip


def java_time(ts: datetime, pattern: str) -> str:
    """A time as SimpleDateFormat prints it."""
    if pattern == "UNIX_MILLIS":
        return str((ts - EPOCH) // (1000 * MICROS))

    def one(match: re.Match[str]) -> str:
        text = match[0]
        if text[0] == "'":
            return text[1:-1]
        if text[0] == "S":
            return f"{ts.microsecond:06d}".ljust(9, "0")[: len(text)]
        if text[0] in "XZ":
            offset = ts.strftime("%z")
            return "Z" if text[0] == "X" and offset == "+0000" else offset[:3] + ":" + offset[3:] if text == "XXX" else offset
        if text[0] in "dHM" and len(text) == 1:
            return str({"d": ts.day, "H": ts.hour, "M": ts.month}[text])
        if text == "h":
            return str(ts.hour % 12 or 12)
        return ts.strftime(_JAVA[text])

    return re.sub(r"'[^']*'|([A-Za-z])\1*", one, _NAMED.get(pattern, pattern))


_CONVERSION = re.compile(r"%(-?\d+)?(?:\.(-?\d+))?([A-Za-z]+)((?:\{[^{}]*\})*)|\\(.)")
NEWLINE = "\n"


def printed(pattern: str, r: Line) -> str:
    """A record as a PatternLayout prints it, its stack trace behind it, with one line break at the end."""

    def one(match: re.Match[str]) -> str:
        if match[5]:
            return {"n": NEWLINE, "t": "\t"}.get(match[5], match[5])
        name, options = match[3], re.findall(r"\{([^{}]*)\}", match[4])
        option = options[0] if options else ""
        text = _converted(name, option, r)
        if text is None:
            for size in range(len(name) - 1, 0, -1):  # logback reads the longest name that it knows
                text = _converted(name[:size], "", r)
                if text is not None:
                    return text + name[size:]
            raise AssertionError(f"%{name} is not printed here")
        if match[2]:
            cut = int(match[2])
            text = text[:-cut] if cut < 0 and len(text) > -cut else text[-cut:] if cut > 0 else text
        if match[1]:
            width = int(match[1])
            text = text.ljust(-width) if width < 0 else text.rjust(width)
        return text

    for coloured in (r"%(?:highlight|style)\{((?:[^{}]|\{[^{}]*\})*)\}(?:\{\w+\})?", r"%clr\(((?:[^()])*)\)(?:\{\w+\})?"):
        pattern = re.sub(coloured, r"\1", pattern)
    text = _CONVERSION.sub(one, pattern)
    return text + (r.trace + NEWLINE if r.trace else "")


def _converted(name: str, option: str, r: Line) -> str | None:
    simple = r.logger.rsplit(".", 1)[-1]
    match name:
        case "d" | "date":
            return java_time(r.ts, option)
        case "p" | "level" | "le":
            return r.level
        case "t" | "thread":
            return r.thread
        case "c" | "logger" | "lo":
            if option == "1.":
                return abbreviated(r.logger, 1)
            if name == "c" and option.isdigit():
                return ".".join(r.logger.split(".")[-int(option) :])
            return abbreviated(r.logger, int(option)) if option.isdigit() else r.logger
        case "C" | "class":
            return r.logger
        case "F" | "file":
            return f"{simple}.java"
        case "L" | "line":
            return str(r.source_line)
        case "M" | "method":
            return "run"
        case "l":
            return f"{r.logger}.run({simple}.java:{r.source_line})"
        case "m" | "msg" | "message":
            return r.message
        case "n":
            return NEWLINE
        case "r" | "relative":
            return "4711"
        case "pid":
            return "36180"
        case "X" | "x" | "mdc" | "marker" | "kvp" | "ex" | "xEx" | "wEx":
            return ""
    return None


def lines_of(pattern: str) -> Callable[[Sequence[Line]], bytes]:
    """Render with a PatternLayout."""
    return lambda records: "".join(printed(pattern, r) for r in records).encode()


def each_line(pattern: str, wrap: Callable[[str, Line], str]) -> Callable[[Sequence[Line]], bytes]:
    """Render with a PatternLayout, and then wrap every line."""

    def render(records: Sequence[Line]) -> bytes:
        return "".join(wrap(text, r) + "\n" for r in records for text in printed(pattern, r).removesuffix("\n").split("\n")).encode()

    return render


def json_lines(encode: Callable[[Line], dict[str, Any]], **options: Any) -> Callable[[Sequence[Line]], bytes]:
    """One object a line."""
    return lambda records: "".join(json.dumps(encode(r), **options) + "\n" for r in records).encode()


def table(
    header: Sequence[str], row: Callable[[Line], Sequence[str]], *, newest_first: bool = False, **options: Any
) -> Callable[[Sequence[Line]], bytes]:
    """An export with quoted fields."""

    def render(records: Sequence[Line]) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n", **options)
        if header:
            writer.writerow(header)
        for r in reversed(records) if newest_first else records:
            writer.writerow(row(r))
        return out.getvalue().encode()

    return render


def recoded(render: Callable[[Sequence[Line]], bytes], change: Callable[[str], bytes]) -> Callable[[Sequence[Line]], bytes]:
    """Renders, then changes the whole text."""
    return lambda records: change(render(records).decode())


def newest_first(pattern: str) -> Callable[[Sequence[Line]], bytes]:
    """Records from the last to the first, each with its lines in order."""
    return lambda records: "".join(printed(pattern, r) for r in reversed(records)).encode()


KAFKA = "[%d] %p %m (%c)%n"
KAFKA_LINE = "[%d] %p %m (%c:%L)%n"
NO_TIME = "%p %m (%c:%L)%n"
CET = timezone(timedelta(hours=1))


def whole(r: Line) -> str:
    """The message with its stack trace."""
    return r.message + (NEWLINE + r.trace if r.trace else "")


def kafka(r: Line) -> str:
    """The record as Kafka's own layout prints it, without the last line break."""
    return printed(KAFKA, r).removesuffix("\n")


def iso(r: Line) -> str:
    """ISO 8601 with milliseconds and Z."""
    return java_time(r.ts, "yyyy-MM-dd'T'HH:mm:ss.SSSX")


def nanos(r: Line) -> str:
    """RFC 3339 with nanoseconds, a little later than the record."""
    return java_time(r.ts + timedelta(microseconds=700), "yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSX")


def _spring(pattern: str, **changes: Any) -> Callable[[Sequence[Line]], bytes]:
    def render(records: Sequence[Line]) -> bytes:
        return "".join(printed(pattern, replace(r, ts=r.ts.astimezone(changes.get("zone", UTC)))) for r in records).encode()

    return render


_CONTEXT = re.compile(r"\[[^|\[\]]+\|[^\[\]]+\] ")


def context_column(begin: str, end: str) -> Callable[[Sequence[Line]], bytes]:
    """Connect's context as a column between two parts of a pattern, and not before the message; records without one have no column."""

    def one(r: Line) -> str:
        found = _CONTEXT.match(r.message)
        context = found[0] if found else ""
        return printed(begin, replace(r, trace="")) + context + printed(end, replace(r, message=r.message[len(context) :]))

    return lambda records: "".join(one(r) for r in records).encode()


PATTERNS: dict[str, dict[str, Any]] = {
    # Kafka and its distributions
    KAFKA: {}, KAFKA_LINE: {"line": True},
    "[%d] %p %m (%c) - app=connect, clusterId=confluent, server=0%n": {},
    "[%d] %p %m (%c:%L) [%t]%n": {"line": True},
    "%d{ISO8601} %p %X{connector.context}%m (%c) [%t]%n": {},
    "%d{yyyy-MM-dd HH:mm:ss} %-5p %X{connector.context}%m (%c:%L) [%t]%n": {"line": True, "resolution_ms": 1000},
    "%d{yyyy-MM-dd'T'HH:mm:ssX} %-5p [%t] %c{1}:%L - %m%n": {"line": True, "resolution_ms": 1000},
    "[Worker-0a1b2c3d4e5f60718] [%d] %p %m (%c:%L)%n": {"line": True, "process": "Worker-0a1b2c3d4e5f60718"},  # MSK Connect
    "%d{ISO8601} %-5p  ||  %m   [%c]%n": {},
    "%d %p %c: %m%n": {}, "%d %p %c: [%t]: %m%n": {},
    # log4j
    "%d{ISO8601} [%t] %-5p %c %x - %m%n": {}, "%d %-5p [%t] %c{1} - %m%n": {}, "%d %-5p %c{2}:%L - %m%n": {"line": True},
    "%d [%t] %-5p %c{1}:%L - %m%n": {"line": True}, "%d{ISO8601} - %-5p - %c - %m%n": {}, "%d | %-5p | %t | %c | %m%n": {},
    "%d{yyyy-MM-dd'T'HH:mm:ss,SSS} | %-5p | %-16.16t | %-40.40c{1} | 64 - org.apache.servicemix.bundles.kafka-clients | %m%n": {},
    "%d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n": {"resolution_ms": 1000},  # Spark
    "%d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %-60c %x - %m%n": {},  # Flink
    "%d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %-60c [] - %m%n": {},
    "%-5p [%d] %c: %m%n": {}, "%p %d{yyyy-MM-dd HH:mm:ss.SSS} %c{1}:%L - %m%n": {"line": True}, "[%p] [%d] [%t] [%c] %m%n": {},
    "[%d{yyyy-MM-dd HH:mm:ss.SSS}] [%t] %-5level %c - %m%n": {}, "%d{yyyy-MM-dd HH:mm:ss.SSS} [%-5p] [%t] [%c{1}:%L] - %m%n": {"line": True},
    "[%d{yyyy-MM-dd'T'HH:mm:ss,SSS}][%-5p][%-25c{1}][main][0a1b2c] %m%n": {}, "%d{dd/MM/yyyy HH:mm:ss.SSS} %-5p [%t] %c - %m%n": {},
    "%d{dd MMM yyyy HH:mm:ss,SSS} [%-5p] (%t) %c: %m%n": {}, "%d{dd-MMM-yyyy HH:mm:ss.SSS} %p [%t] %c.run %m%n": {},
    "%d{UNIX_MILLIS} [%t] %p %c - %m%n": {}, "%d{yyyy-MM-dd HH:mm:ss.SSSXXX} %-5p %c - %m%n": {}, "%d{yyyyMMdd HH:mm:ss.SSS} [%t] %p %c - %m%n": {},
    "%d{yyyy-MM-dd HH:mm:ss.SSSZ} [%t] %p %c{1} : %m%n": {}, "%d - %p - [%t] - %c - %m%n": {}, "%d %p (%t) [%c] %m%n": {},
    "%d{HH:mm:ss,SSS} %-5p [%c] (%t) %m%n": {"time": False}, "%d{HH:mm:ss.SSS} [%t] %-5level %logger{36} - %msg%n": {"time": False},
    "%r [%t] %p %c %x - %m%n": {"time": False}, "%d %p [%c] %m%n": {}, "%d %p [%t] %C (%F:%L) - %m%n": {"line": True},
    "%d [%p] %c{1} - %m%n": {}, "%d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}.%M:%L - %m%n": {"line": True}, "%p\t%d\t[%t]\t%c\t%m%n": {},
    "%d;%p;%t;%c;%m%n": {}, "time=%d level=%p thread=%t logger=%c msg=%m%n": {}, "ts=%d{yyyy-MM-dd'T'HH:mm:ss.SSSX} level=%p caller=%c:%L msg=\"%m\"%n": {"line": True},
    # logback
    "%d{yyyy-MM-dd HH:mm:ss.SSS} [%thread] %-5level %logger{36} - %msg%n": {}, "%date %level [%thread] %logger{10} [%file:%line] %msg%n": {"line": True},
    "%d{yyyy-MM-dd HH:mm:ss} %-5level %logger{0} - %msg%n": {"resolution_ms": 1000}, "%d{yyyy-MM-dd HH:mm:ss.SSS} [%thread] %-5level %logger{36} -%kvp- %msg%n": {},
    "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX}  %5p 36180 --- [%15.15t] %-40.40logger{39} : %m%n": {}, "%d{yyyy-MM-dd HH:mm:ss.SSS}  %5p 36180 --- [%15.15t] %-40.40logger{39} : %m%n": {},
    "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %5p 1 --- [orders-app] [%15.15t] [ traceid-spanid] %-40.40logger{39} : %m%n": {},
    "%d{yyyy-MM-dd HH:mm:ss.SSS} %5p [orders,64f1b2,64f1b3] 1 --- [%15.15t] %-40.40logger{39} : %m%n": {},
    "%d{yyyy-MM-dd HH:mm:ss.SSS} [%thread] %-5level %logger{20} - [run,%line] - %msg%n": {},
    "%d{HH:mm:ss.SSS} [%thread] %-5level %logger{20} - [run,%line] - %msg%n": {"time": False},  # RuoYi
    "%d{yyyy-MM-dd HH:mm:ss.SSS} |-%-5level [%thread] %c [%L] -| %msg%n": {"line": True},
    "[%p] %d [%t] %c run - app=kafka, clusterId=confluent, server=0 - %m%n": {},  # Confluent for Kubernetes
    "%d{MM/dd/yyyy hh:mm:ss.SSS a} %-5p [%t] %c - %m%n": {}, "%d{yyyy-MM-dd hh:mm:ss a} %-5p [%t] %c - %m%n": {"resolution_ms": 1000},
    "%d{M/d/yyyy h:mm:ss a} %p %c - %m%n": {"resolution_ms": 1000}, "%d{yyyyMMdd'T'HHmmss,SSS} %-5p [%t] %c - %m%n": {},
    # no time
    "%p %m (%c:%L)%n": {"time": False, "line": True}, "%m (%c)%n": {"time": False, "level": False}, "%p %c - %m%n": {"time": False}, "[%t] %p %c - %m%n": {"time": False},
    "%-5p [%t]: %c{1} - %m%n": {"time": False}, "%p  %c{1}:%L - %m%n": {"time": False, "line": True}, "[%p] %m (%c)%n": {"time": False},
    "%c - %m%n": {"time": False, "level": False},
    # no logger
    "%d %p %m%n": {"logger": False}, "[%d] [%p] %m%n": {"logger": False}, "%m%n": {"time": False, "level": False, "logger": False},
    "%d{yyyy-MM-dd'T'HH:mm:ss.SSSX} %m%n": {"level": False, "logger": False}, "%p %m%n": {"time": False, "logger": False},
}  # fmt: skip


def _logstash(r: Line) -> dict[str, Any]:
    found = {
        "@timestamp": iso(r),
        "@version": "1",
        "message": r.message,
        "logger_name": r.logger,
        "thread_name": r.thread,
        "level": r.level,
        "level_value": 20000,
    }
    return found | ({"stack_trace": r.trace} if r.trace else {})


def _log4j2(r: Line) -> dict[str, Any]:
    found = {
        "instant": {"epochSecond": r.millis // 1000, "nanoOfSecond": r.millis % 1000 * 1000000}, "thread": r.thread, "level": r.level,
        "loggerName": r.logger, "message": r.message, "endOfBatch": False, "loggerFqcn": "org.apache.logging.slf4j.Log4jLogger", "contextMap": {},
        "threadId": 1, "threadPriority": 5,
    }  # fmt: skip
    return found | ({"thrown": {"name": "x", "extendedStackTrace": r.trace}} if r.trace else {})


def _ecs(r: Line) -> dict[str, Any]:
    return {
        "@timestamp": iso(r), "log.level": r.level, "message": r.message, "ecs.version": "1.2.0", "service.name": "connect", "process.thread.name": r.thread,
        "log.logger": r.logger, **({"error.stack_trace": r.trace} if r.trace else {}),
    }  # fmt: skip


def _ecs_nested(r: Line) -> dict[str, Any]:
    return {"@timestamp": iso(r), "log": {"level": r.level, "logger": r.logger, "origin": {"file": {"line": r.source_line}}}, "message": whole(r),
            "process": {"thread": {"name": r.thread}}}  # fmt: skip


def _quarkus(r: Line) -> dict[str, Any]:
    return {"timestamp": java_time(r.ts.astimezone(CET), "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"), "sequence": 7, "loggerClassName": "org.slf4j.impl.Slf4jLogger",
            "loggerName": r.logger, "level": r.level, "message": whole(r), "threadName": r.thread, "threadId": 1, "mdc": {}, "ndc": "", "hostName": "h", "processId": 1}  # fmt: skip


def _gelf(r: Line) -> dict[str, Any]:
    return {"version": "1.1", "host": "connect-0", "short_message": r.message.split("\n")[0], "full_message": whole(r), "timestamp": r.millis / 1000,
            "level": {"ERROR": 3, "WARN": 4, "INFO": 6, "DEBUG": 7, "TRACE": 7, "FATAL": 2}[r.level], "_logger": r.logger, "_thread": r.thread, "_level_name": r.level}  # fmt: skip


def _stackdriver(r: Line) -> dict[str, Any]:
    return {"jsonPayload": {"message": whole(r), "logger": r.logger, "thread": r.thread}, "severity": r.level, "timestamp": iso(r), "insertId": "x",
            "resource": {"type": "k8s_container", "labels": {"pod_name": "connect-0"}}}  # fmt: skip


def _docker(r: Line) -> list[dict[str, Any]]:
    return [{"log": text + "\n", "stream": "stdout", "time": nanos(r)} for text in kafka(r).split("\n")]


def _docker_json(records: Sequence[Line]) -> bytes:
    return "".join(json.dumps(part) + "\n" for r in records for part in _docker(r)).encode()


def _pattern_json(records: Sequence[Line]) -> bytes:
    return lines_of('{"ts":"%d","level":"%p","thread":"%t","class":"%c:%L","msg":"%m"}%n')(records)


def _hits(r: Line) -> dict[str, Any]:
    return {"_index": "logs-1", "_id": "x1", "_score": None, "_source": {"@timestamp": iso(r), "message": kafka(r), "kubernetes": {"pod": {"name": "connect-0"}}},
            "sort": [1]}  # fmt: skip


def _loki(entries: Callable[[Line], Sequence[str]], **options: Any) -> Callable[[Sequence[Line]], bytes]:
    """An answer of Loki's interface; an entry is a whole record, or a line of one."""

    def render(records: Sequence[Line]) -> bytes:
        values = [[str(r.millis * 10**6 + 700), text] for r in records for text in entries(r)]
        streams = [{"stream": {"pod": "connect-0", "app": "connect"}, "values": values}]
        return json.dumps({"status": "success", "data": {"resultType": "streams", "result": streams, "stats": {"summary": {}}}}, **options).encode()

    return render


def _answer(outside: Callable[[list[Any]], Any], inside: Callable[[Line], Any]) -> Callable[[Sequence[Line]], bytes]:
    """An answer of any store on one line."""
    return lambda records: json.dumps(outside([inside(r) for r in records]), separators=(",", ":")).encode()


def _jul(records: Sequence[Line]) -> bytes:
    names = {"WARN": "WARNING", "ERROR": "SEVERE", "DEBUG": "FINE", "TRACE": "FINEST"}
    return "".join(
        f"{java_time(r.ts, 'MMM dd, yyyy h:mm:ss a')} {r.logger} run\n{names.get(r.level, r.level)}: {whole(r)}\n" for r in records
    ).encode()


def _jul_one_line(records: Sequence[Line]) -> bytes:
    names = {"WARN": "WARNING", "ERROR": "SEVERE", "DEBUG": "FINE", "TRACE": "FINEST"}
    return "".join(
        f"[{java_time(r.ts, 'yyyy-MM-dd HH:mm:ss')}] [{names.get(r.level, r.level):7}] {r.logger} run: {whole(r)}\n" for r in records
    ).encode()


def _cri(records: Sequence[Line]) -> bytes:
    return each_line(KAFKA, lambda text, r: f"{nanos(r)} stdout F {text}")(records)


def _cri_parts(records: Sequence[Line]) -> bytes:
    """The container runtime took long lines apart."""

    def parts(text: str, r: Line) -> str:
        return f"{nanos(r)} stdout P {text[:70]}\n{nanos(r)} stdout F {text[70:]}" if len(text) > 70 else f"{nanos(r)} stdout F {text}"

    return each_line(KAFKA, parts)(records)


def _syslog(r: Line) -> str:
    return java_time(r.ts, "MMM dd HH:mm:ss")


COLOURS = {"ERROR": "31", "WARN": "33", "INFO": "32", "DEBUG": "36", "TRACE": "36"}


def _coloured(r: Line) -> str:
    text = printed("\x1b[2m%d{yyyy-MM-dd HH:mm:ss.SSS}\x1b[0;39m COLOUR \x1b[35m36180\x1b[0;39m \x1b[2m---\x1b[0;39m \x1b[2m[%15.15t]\x1b[0;39m "
                   "\x1b[36m%-40.40logger{39}\x1b[0;39m \x1b[2m:\x1b[0;39m %m%n", r)  # fmt: skip
    return text.replace("COLOUR", f"\x1b[{COLOURS[r.level]}m{r.level:>5}\x1b[0;39m", 1)


def _numbered(records: Sequence[Line], form: str) -> bytes:
    return "".join(form.format(i) + text + "\n" for i, text in enumerate(lines_of(KAFKA)(records).decode().splitlines(), 1)).encode()


def families() -> list[Family]:
    """Return all of them."""
    found = [Family(pattern.replace("\t", "\\t"), lines_of(pattern), **keeps) for pattern, keeps in PATTERNS.items()]
    found += [
        Family("context between thread and logger", context_column("%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %-5p [%t] ", "%c - %m%n")),
        Family("context between level and logger", context_column("%d [%t] %-5p ", "%c - %m%n")),
        Family("context between thread and logger, other brackets", context_column("%d %p {%t} ", "%c: %m%n")),
        Family("a zone's name", _spring("%d{yyyy-MM-dd HH:mm:ss,SSS} CET %-5p [%t] %c - %m%n", zone=CET)),
        Family("a zone's name in brackets", _spring("[%d{yyyy-MM-dd HH:mm:ss,SSS} CET] %p %m (%c)%n", zone=CET)),
        Family("Liberty", _spring("[%d{M/d/yy} %d{H:mm:ss}:%d{SSS} CET] 0000003b %-20c{1} A %m%n", zone=CET), level=False),
        Family("Docker Desktop", each_line(KAFKA, lambda text, r: f"{java_time(r.ts + timedelta(hours=3), 'yyyy-MM-dd HH:mm:ss')} {text}")),
        Family("Heroku", each_line(KAFKA, lambda text, r: f"{nanos(r)[:26]}+00:00 app[worker.1]: {text}"), process="app[worker.1]"),
        Family("MSK Connect in CloudWatch's CSV", table(["timestamp", "message"], lambda r: [str(r.millis), f"[Worker-0a1b2c3d4e5f60718] {kafka(r)}"]), process="Worker-0a1b2c3d4e5f60718"),
        Family("MSK Connect in JSON", json_lines(lambda r: {"timestamp": r.millis, "message": f"[Worker-0a1b2c3d4e5f60718] {kafka(r)}"}), process="Worker-0a1b2c3d4e5f60718"),
        Family("JSON list, an object a line", lambda records: ("[\n" + ",\n".join(json.dumps(_logstash(r)) for r in records) + "\n]\n").encode()),
        Family("Grafana JSON", lambda records: json.dumps([{"line": kafka(r), "timestamp": str(r.millis * 10**6), "fields": {"pod": "connect-0"}} for r in records], indent=2).encode(), process="connect-0"),
        Family("Splunk JSON", json_lines(lambda r: {"preview": False, "result": {"_raw": kafka(r), "_time": iso(r), "host": "node-7"}}), process="node-7"),
        Family("Loki JSON", json_lines(lambda r: {"labels": {"pod": "connect-0"}, "line": kafka(r), "timestamp": nanos(r)}), process="connect-0"),
        Family("Datadog JSON", json_lines(lambda r: {"id": "A", "content": {"timestamp": iso(r), "host": "node-7", "message": whole(r),
                                                     "attributes": {"level": r.level, "logger": {"name": r.logger}}}}), process="node-7"),
        Family("Azure CSV", table(["TimeGenerated [UTC]", "PodName", "LogMessage"], lambda r: [java_time(r.ts, "M/d/yyyy, h:mm:ss.SSS a"), "connect-0", kafka(r)], quoting=csv.QUOTE_ALL), process="connect-0"),
        Family("Spring Cloud GCP", json_lines(lambda r: {"timestampSeconds": r.millis // 1000, "timestampNanos": r.millis % 1000 * 10**6, "severity": r.level, "logger": r.logger, "message": whole(r)})),
        Family("bold", recoded(lines_of(KAFKA), lambda t: re.sub(r"(?m)^(\[2.*\))$", r"**\1**", t).encode())),
        Family("logstash encoder", json_lines(_logstash)), Family("log4j2 JsonLayout", json_lines(_log4j2)), Family("ECS", json_lines(_ecs)),
        Family("ECS, nested", json_lines(_ecs_nested), line=True), Family("Quarkus JSON", json_lines(_quarkus)),
        Family("Quarkus JSON, compact", json_lines(_quarkus, separators=(",", ":"))),
        Family("GELF", json_lines(_gelf), process="connect-0", level=False), Family("Stackdriver", json_lines(_stackdriver), process="connect-0"),
        Family("JSON by a pattern", _pattern_json, line=True), Family("docker json-file", _docker_json),
        Family("JSON in JSON", json_lines(lambda r: {"log": json.dumps(_logstash(r)) + "\n", "stream": "stdout", "time": nanos(r)})),
        Family("filebeat", json_lines(lambda r: {"@timestamp": nanos(r), "message": kafka(r), "host": {"name": "node-7"}, "agent": {"type": "filebeat"}}), process="node-7"),
        Family("fluent-bit", json_lines(lambda r: {"log": kafka(r), "kubernetes": {"pod_name": "connect-0", "container_name": "connect"}, "date": r.millis / 1000 + 0.5}), process="connect-0"),
        Family("journald JSON", json_lines(lambda r: {"MESSAGE": kafka(r), "_HOSTNAME": "node-7", "SYSLOG_IDENTIFIER": "connect", "__REALTIME_TIMESTAMP": str(r.millis * 1000 + 99)}), process="node-7"),
        Family("kibana hits, pretty", lambda records: json.dumps([_hits(r) for r in records], indent=2).encode(), process="connect-0"),
        Family("JSON array of records", lambda records: json.dumps([_logstash(r) for r in records], indent=2).encode()),
        Family("CloudWatch events", lambda records: json.dumps({"events": [{"timestamp": r.millis, "message": kafka(r), "ingestionTime": r.millis + 900} for r in records]}, indent=4).encode()),
        Family("Loki answer", _loki(lambda r: kafka(r).split("\n")), process="connect-0"),
        Family("Loki answer, pretty, whole records", _loki(lambda r: [kafka(r)], indent=2), process="connect-0"),
        Family("Elasticsearch answer", _answer(lambda hits: {"took": 5, "hits": {"total": {"value": 1}, "hits": hits}}, _hits), process="connect-0"),
        Family("JSON array on one line", _answer(lambda records: records, _logstash)),
        Family("jq", lambda records: "\n".join(json.dumps(_logstash(r), indent=2) for r in records).encode()),
        Family("Logs Insights answer", _answer(lambda results: {"results": results, "status": "Complete"},
                                               lambda r: [{"field": "@timestamp", "value": iso(r).replace("T", " ")[:23]}, {"field": "@message", "value": kafka(r)}])),
        Family("Datadog answer", _answer(lambda data: {"data": data, "meta": {}}, lambda r: {"id": "A", "type": "log", "attributes": {"timestamp": iso(r), "message": kafka(r), "host": "node-7"}}),
               process="node-7"),
        Family("Graylog answer", _answer(lambda messages: {"query": "*", "messages": messages}, lambda r: {"message": {"timestamp": iso(r), "message": kafka(r)}, "index": "x"})),
        Family("java.util.logging", _jul, resolution_ms=1000), Family("java.util.logging, one line", _jul_one_line, resolution_ms=1000),
        Family("java.util.logging, JDK 20", recoded(_jul, lambda t: re.sub(r"(\d) ([AP]M) ", "\\1\u202f\\2 ", t).encode()), resolution_ms=1000),
        Family("CRI", _cri), Family("CRI, long lines in parts", _cri_parts),
        Family("kubectl --timestamps", each_line(KAFKA, lambda text, r: f"{nanos(r)} {text}")),
        Family("kubectl --prefix", each_line(KAFKA, lambda text, r: f"[pod/connect-0/connect] {text}"), process="connect-0/connect"),
        Family("kubectl --prefix --timestamps", each_line(KAFKA, lambda text, r: f"[pod/connect-0/connect] {nanos(r)} {text}"), process="connect-0/connect"),
        Family("stern", each_line(KAFKA, lambda text, r: f"connect-0 connect {text}"), process="connect-0 connect"),
        Family("docker-compose", each_line(KAFKA, lambda text, r: f"connect-1  | {text}"), process="connect-1"),
        Family("docker-compose --timestamps", each_line(KAFKA, lambda text, r: f"connect-1  | {nanos(r)} {text}"), process="connect-1"),
        Family("docker-compose, coloured", each_line(KAFKA, lambda text, r: f"\x1b[36mconnect-1  |\x1b[0m {text}"), process="connect-1"),
        Family("journald", each_line(KAFKA, lambda text, r: f"{_syslog(r)} node-7 connect[991]: {text}"), process="node-7 connect"),
        Family("journald short-iso", each_line(KAFKA, lambda text, r: f"{java_time(r.ts, 'yyyy-MM-dd')}T{java_time(r.ts, 'HH:mm:ssZ')} node-7 connect[991]: {text}"), process="node-7 connect"),
        Family("journald short-full", each_line(KAFKA, lambda text, r: f"{java_time(r.ts, 'EEE yyyy-MM-dd HH:mm:ss')} UTC node-7 connect[991]: {text}"), process="node-7 connect"),
        Family("rsyslog ISO", each_line(KAFKA, lambda text, r: f"{nanos(r)[:26]}+00:00 node-7 connect: {text}"), process="node-7 connect"),
        Family("syslog 3164", each_line(KAFKA, lambda text, r: f"<14>{_syslog(r)} node-7 connect[991]: {text}"), process="node-7 connect"),
        Family("syslog 5424", each_line(KAFKA, lambda text, r: f"<14>1 {iso(r)} node-7 connect 991 - - {text}"), process="node-7 connect"),
        # A program that leaves the time to whoever collects its lines.
        Family("CRI, no time of its own", each_line(NO_TIME, lambda text, r: f"{iso(r)} stdout F {text}"), line=True, resolution_ms=1000),
        Family("docker, no time of its own", lambda records: "".join(
            json.dumps({"log": text + "\n", "stream": "stdout", "time": iso(r)}) + "\n"
            for r in records for text in printed(NO_TIME, r).removesuffix("\n").split("\n")).encode(), line=True, resolution_ms=1000),
        Family("kubectl --timestamps, no time of its own", each_line(NO_TIME, lambda text, r: f"{iso(r)} {text}"), line=True, resolution_ms=1000),
        Family("docker-compose --timestamps, no time of its own", each_line(NO_TIME, lambda text, r: f"connect-1  | {iso(r)} {text}"), process="connect-1", line=True, resolution_ms=1000),
        Family("journald short-iso, no time of its own", each_line(NO_TIME, lambda text, r: f"{java_time(r.ts, 'yyyy-MM-dd')}T{java_time(r.ts, 'HH:mm:ssZ')} node-7 connect[991]: {text}"),
               process="node-7 connect", resolution_ms=1000, line=True),
        Family("journald, no time of its own", each_line(NO_TIME, lambda text, r: f"{_syslog(r)} node-7 connect[991]: {text}"), process="node-7 connect", resolution_ms=1000, line=True),
        Family("kubectl --timestamps, no date of its own", each_line("%d{HH:mm:ss.SSS} [%t] %-5p %c - %m%n", lambda text, r: f"{iso(r)} {text}"), resolution_ms=1000),
        Family("docker, no date of its own", lambda records: "".join(
            json.dumps({"log": text + "\n", "stream": "stdout", "time": iso(r)}) + "\n"
            for r in records for text in printed("%d{HH:mm:ss,SSS} %-5p %m (%c:%L)%n", r).removesuffix("\n").split("\n")).encode(), line=True, resolution_ms=1000),
        Family("journald, no date of its own", each_line("%d{ABSOLUTE} %-5p [%t] %c: %m%n", lambda text, r: f"{_syslog(r)} node-7 connect[991]: {text}"), process="node-7 connect", resolution_ms=1000),
        Family("docker, no time of its own, logger first", lambda records: "".join(
            json.dumps({"log": text + "\n", "stream": "stdout", "time": iso(r)}) + "\n"
            for r in records for text in printed("%-5p %c - %m%n", r).removesuffix("\n").split("\n")).encode(), resolution_ms=1000),
        Family("journald JSON, no time of its own, logger first", json_lines(lambda r: {
            "MESSAGE": printed("%-5p %c - %m%n", r).removesuffix("\n"), "_HOSTNAME": "node-7", "SYSLOG_IDENTIFIER": "connect", "__REALTIME_TIMESTAMP": str(r.millis * 1000)}), process="node-7", resolution_ms=1000),
        Family("docker, no time of its own, level in brackets", lambda records: "".join(
            json.dumps({"log": text + "\n", "stream": "stdout", "time": iso(r)}) + "\n"
            for r in records for text in printed("[%p] %m (%c:%L)%n", r).removesuffix("\n").split("\n")).encode(), line=True, resolution_ms=1000),
        Family("journald short-precise, no time of its own", each_line(NO_TIME, lambda text, r: f"{java_time(r.ts, 'MMM dd HH:mm:ss.SSS')}000 node-7 connect[991]: {text}"),
               process="node-7 connect", line=True, resolution_ms=1000),
        Family("syslog 3164, no time of its own", each_line(NO_TIME, lambda text, r: f"<14>{_syslog(r)} node-7 connect[991]: {text}"), process="node-7 connect", resolution_ms=1000, line=True),
        Family("syslog 5424, no time of its own", each_line(NO_TIME, lambda text, r: f"<14>1 {iso(r)} node-7 connect 991 - - {text}"), process="node-7 connect", line=True, resolution_ms=1000),
        Family("journald, no time of its own, logger first", each_line("%-5p %c - %m%n", lambda text, r: f"{_syslog(r)} node-7 connect[991]: {text}"), process="node-7 connect", resolution_ms=1000),
        Family("rsyslog ISO, no time of its own, logger first", each_line("%-5p [%t] %c: %m%n", lambda text, r: f"{iso(r)[:-1]}+00:00 node-7 connect: {text}"), process="node-7 connect", resolution_ms=1000),
        Family("aws logs tail", each_line(KAFKA, lambda text, r: f"{nanos(r)[:26]}+00:00 connect-logs/stream-1 {text}"), process="connect-logs/stream-1"),
        Family("logcli", each_line(KAFKA, lambda text, r: f'{nanos(r)[:19]}Z {{app="connect", pod="connect-0"}} {text}'), process="connect-0"),
        Family("kibana CSV", table(["@timestamp", "message"], lambda r: [java_time(r.ts, "MMM d, yyyy @ HH:mm:ss.SSS"), kafka(r)], quoting=csv.QUOTE_ALL)),
        Family("kibana CSV, newest first", table(["@timestamp", "kubernetes.pod.name", "message"], lambda r: [java_time(r.ts, "MMM d, yyyy @ HH:mm:ss.SSS"), "connect-0", kafka(r)],
                                                 quoting=csv.QUOTE_ALL, newest_first=True), process="connect-0"),
        Family("CSV of columns", table(["timestamp", "level", "thread", "logger", "message"], lambda r: [iso(r), r.level, r.thread, r.logger, whole(r)])),
        Family("CSV of columns, host first", table(["host", "time", "severity", "class", "msg"], lambda r: ["connect-0", iso(r), r.level, r.logger, whole(r)], quoting=csv.QUOTE_ALL), process="connect-0"),
        Family("Splunk CSV", table(["_time", "host", "source", "_raw"], lambda r: [java_time(r.ts.astimezone(CET), "yyyy-MM-dd'T'HH:mm:ss.SSSZ"), "node-7", "/var/log/connect.log", kafka(r)], quoting=csv.QUOTE_ALL), process="node-7"),
        Family("Splunk CSV, text first", table(["_raw", "_time", "host", "source"], lambda r: [kafka(r), java_time(r.ts.astimezone(CET), "yyyy-MM-dd'T'HH:mm:ss.SSSZ"), "node-7", "/var/log/connect.log"], quoting=csv.QUOTE_ALL), process="node-7"),
        Family("Splunk CSV, host and text first, newest first", table(["host", "_raw", "_time"], lambda r: ["node-7", kafka(r), java_time(r.ts.astimezone(CET), "yyyy-MM-dd'T'HH:mm:ss.SSSZ")], newest_first=True), process="node-7"),
        Family("folded at 132 columns", lambda records: "".join(text[i : i + 132] + "\n" for r in records for text in kafka(r).split("\n") for i in range(0, max(len(text), 1), 132)).encode()),
        Family("CSV of messages without a time", table(["@timestamp", "host.name", "message"], lambda r: [iso(r), "node-7", printed(NO_TIME, r).removesuffix("\n")], quoting=csv.QUOTE_ALL), process="node-7", line=True),
        Family("CSV of messages without a time, text first", table(["_raw", "_time", "host"], lambda r: [printed(NO_TIME, r).removesuffix("\n"), iso(r), "node-7"], quoting=csv.QUOTE_ALL), process="node-7", line=True),
        Family("Datadog CSV", table(["Date", "Host", "Service", "Message"], lambda r: [iso(r), "node-7", "connect", kafka(r)]), process="node-7"),
        Family("TSV", table(["time", "message"], lambda r: [iso(r), kafka(r)], delimiter="\t")),
        Family("grep -n of one file", lambda records: _numbered(records, "{}:")),
        Family("grep of files", each_line(KAFKA, lambda text, r: f"logs/w1/connect.log:{text}"), process="logs/w1/connect.log"),
        Family("grep -n of files", lambda records: _numbered(records, "connect.log.1:{}:"), process="connect.log.1"),
        Family("zgrep of rotated files", each_line(KAFKA, lambda text, r: f"/var/log/kafka/connect.log.2024-01-01-11.gz:{text}"), process="/var/log/kafka/connect.log.2024-01-01-11.gz"),
        Family("cat -n", lambda records: _numbered(records, "{:>6}\t")), Family("bat", lambda records: _numbered(records, "{:>5} │ ")),
        Family("Spring Boot in colours", lambda records: "".join(_coloured(r) + (r.trace + "\n" if r.trace else "") for r in records).encode()),
        Family("Spring Boot in colours, escapes lost", lambda records: "".join(_coloured(r).replace("\x1b", "") + (r.trace + "\n" if r.trace else "") for r in records).encode()),
        Family("coloured lines", each_line(KAFKA, lambda text, r: f"\x1b[1;{COLOURS[r.level]}m{text}\x1b[0m\x1b[K")),
        Family("Markdown quote", each_line(KAFKA, lambda text, r: f"> {text}")), Family("mail quote", each_line(KAFKA, lambda text, r: f">> {text}")),
        Family("indented by blanks", each_line(KAFKA, lambda text, r: f"    {text}")), Family("indented by a tab", each_line(KAFKA, lambda text, r: f"\t{text}")),
        Family("Markdown fence", recoded(lines_of(KAFKA), lambda t: f"Here is my log:\n\n```\n{t}```\nAny idea?\n".encode())),
        Family("Spring Boot, quoted", each_line("%d{yyyy-MM-dd HH:mm:ss.SSS}  %5p 36180 --- [%15.15t] %-40.40logger{39} : %m%n", lambda text, r: f"> {text}")),
        Family("UTF-16 LE", recoded(lines_of(KAFKA), lambda t: b"\xff\xfe" + t.replace("\n", "\r\n").encode("utf-16-le"))),
        Family("UTF-16 BE", recoded(lines_of(KAFKA), lambda t: b"\xfe\xff" + t.encode("utf-16-be"))),
        Family("UTF-8 with mark, CRLF", recoded(lines_of(KAFKA), lambda t: b"\xef\xbb\xbf" + t.replace("\n", "\r\n").encode())),
        Family("newest first", newest_first(KAFKA)), Family("newest first, Spring Boot", newest_first("%d{yyyy-MM-dd HH:mm:ss.SSS}  %5p 1 --- [%15.15t] %-40.40logger{39} : %m%n")),
        Family("blank line between records", recoded(lines_of(KAFKA), lambda t: t.replace("\n[", "\n\n[").encode())),
        Family("docker-compose, Spring Boot", each_line("%d{yyyy-MM-dd HH:mm:ss.SSS}  %5p 1 --- [%15.15t] %-40.40logger{39} : %m%n", lambda text, r: f"orders-app_1   | {text}"), process="orders-app_1"),
        Family("CRI, logback", each_line("%d{HH:mm:ss.SSS} [%thread] %-5level %logger{36} - %msg%n", lambda text, r: f"{iso(r)} stderr F {text}"), resolution_ms=1000),
        Family("CRI, JSON", lambda records: "".join(f"{nanos(r)} stdout F {json.dumps(_logstash(r))}\n" for r in records).encode()),
        Family("docker-compose, JSON", lambda records: "".join(f"connect-1  | {json.dumps(_ecs(r))}\n" for r in records).encode(), process="connect-1"),
    ]  # fmt: skip
    return found


#: PatternLayout strings that only the user knows.
TOLD = (
    "%m | %c | %p | %d{dd.MM.yyyy HH:mm:ss,SSS}%n",
    "%d{HH:mm:ss.SSS dd.MM.yyyy} <%p> <%c{1}> %m%n",
    "{%p} @%d@ %C %m%n",
    "%d{yyyy-MM-dd HH:mm:ss.SSS} %highlight{%-5p} %style{[%t]}{cyan} %c{1.} - %m%n%ex",
    "%d{dd.MM.yy HH:mm:ss,SSS} %-5.5p [%-10.10t] %c{1} %m%n",
    "%-5level %d{[yyyy-MM-dd HH:mm:ss,SSS]} %logger{35} <%thread> %msg%n",
    "%clr(%d{yyyy-MM-dd HH:mm:ss.SSS}){faint} %clr(%5p) %clr([%t]){faint} %clr(%-40.40logger{39}){cyan} %clr(:){faint} %m%n",
)
