# SPDX-License-Identifier: Apache-2.0
"""Rewrite the logs of several processes into the shapes in which people send them: what collectors, terminals, editors and stores make of a log.

A shape takes the records of all processes and returns files. It says what is lost on the way; everything else can be read from these files as from the logs.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from heapq import merge
from pathlib import Path
from random import Random

#: How Kafka's own layout begins and ends.
_HEAD = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ")
_KAFKA = re.compile(
    r"\[(?P<ts>[^\]]+)\] (?P<level>[A-Z]+) (?P<message>.*?) ?\((?P<logger>[A-Za-z_][\w.$]*?)(?::(?P<line>\d+))?\)(?P<trace>\n.*)?\Z", re.DOTALL
)
#: Lines that concern a group, for which people search, and the moment around which they cut a log.
_OF_GROUPS = re.compile(r"(?i)rebalanc|coordinator|generation|heartbeat|member")
_INCIDENT = re.compile(r"(?i)preparing to rebalance|has failed|session timed out|fenced|max\.poll|is dead|unavailable|rebalance")
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Printed:
    """A record as its process printed it.

    Attributes:
        host: the process.
        file: name of its log.
        ts: its time, UTC.
        lines: its lines.
    """

    host: str
    file: str
    ts: datetime
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return its lines as one text."""
        return "\n".join(self.lines)


Logs = Mapping[str, Sequence[Printed]]
Files = dict[str, bytes]


@dataclass(frozen=True)
class Shape:
    """A shape of logs.

    Attributes:
        name: its name in tests and documents.
        render: the records of each process to files by path.
        loses: what it loses: `records`, `values` (captures), `message` (its end), `line` (of the source), `level`, `logger`, `time`, `date`, `once` (each record is in two files, which are copies of one log).
        resolution_ms: of the times that it prints.
        mask: what it makes of the names in a text.
    """

    name: str
    render: Callable[[Logs, Random], Files]
    loses: tuple[str, ...] = ()
    resolution_ms: int = 1
    mask: Callable[[str], str] | None = None

    def __str__(self) -> str:
        return self.name


def records_of(folder: Path) -> Logs:
    """Return the records of each process in a folder with one folder for each host, as the laboratory records them."""
    return {path.parent.name: _split(path) for path in sorted(folder.glob("*/*.log"))}


def _split(path: Path) -> list[Printed]:
    found: list[Printed] = []
    for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
        if head := _HEAD.match(line):
            ts = datetime.strptime(head[1] + "000", "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007  (UTC, as the laboratory's hosts)
            found.append(Printed(path.parent.name, path.name, ts, (line,)))
        elif found:
            found[-1] = replace(found[-1], lines=(*found[-1].lines, line))
    return found


def excerpt(logs: Logs, most: int) -> Logs:
    """Return at most this many records of each process, from around the middle of what happened to its groups."""
    moments = sorted(r.ts for records in logs.values() for r in records if _INCIDENT.search(r.lines[0]))
    middle = moments[len(moments) // 2]
    found = {}
    for host, records in logs.items():
        at = sum(r.ts < middle for r in records)
        begin = max(0, min(at - most // 2, len(records) - most))
        found[host] = records[begin : begin + most]
    return {host: records for host, records in found.items() if records}


def plain(logs: Logs) -> Files:
    """Return the logs as the processes wrote them."""
    return {f"{host}/{records[0].file}": _joined(r.text for r in records) for host, records in logs.items()}


def _joined(lines: Iterable[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def _in_turn(logs: Logs) -> list[Printed]:
    """Return the records of all processes by time; those of one process stay in their order."""

    def keyed(records: Sequence[Printed]) -> Iterator[tuple[datetime, str, int, Printed]]:
        latest = records[0].ts
        for i, r in enumerate(records):
            latest = max(latest, r.ts)
            yield latest, r.host, i, r

    return [found[3] for found in merge(*map(keyed, logs.values()))]


# Text before each line of one file with all processes.


def _prefixed(
    prefix: Callable[[Printed, str], str],
    others: Sequence[str] = (),
    *,
    torn: float = 0.0,
    change: Callable[[Printed], Printed] | None = None,
    name: str = "compose.log",
) -> Callable[[Logs, Random], Files]:
    """Write all processes into one file, each line with a prefix, with lines of other programs between them."""

    def render(logs: Logs, random: Random) -> Files:
        lines: list[str] = []
        waiting: list[str] = []
        for i, given in enumerate(_in_turn(logs)):
            r = change(given) if change else given
            mine = [prefix(r, line) + line for line in r.lines]
            if torn and not waiting and len(mine) > 1 and random.random() < torn:  # the next process's line comes before the rest of this record
                lines.append(mine[0])
                waiting += mine[1:]
                continue
            if waiting and not any(w.startswith(prefix(r, "x")[:8]) for w in waiting):
                lines.append(mine[0])
                lines += waiting
                lines += mine[1:]
            else:
                lines += waiting
                lines += mine
            waiting = []
            for other in others:
                if random.random() < 0.15 or i < 2:
                    lines += [prefix(replace(r, host=other, file=f"{other}.log"), line) + line for line in _other(other, r.ts, random)]
        return {name: _joined([*lines, *waiting])}

    return render


def _stamp(ts: datetime) -> str:
    return f"{ts:%Y-%m-%dT%H:%M:%S}.{ts.microsecond:06d}713Z"


def _millis(ts: datetime) -> str:
    return f"{ts.microsecond // 1000:03d}"


def _other(program: str, ts: datetime, random: Random) -> list[str]:
    """Return some lines of another program, at this time."""
    n = random.randrange(1, 9999)
    day, clock = f"{ts:%Y-%m-%d}", f"{ts:%H:%M:%S}"
    match program:
        case "orders-py":
            return random.choice(
                [
                    [f"{day} {clock} [T:MainThread] INFO:src.commands.services: processed order {n}"],
                    [f"{day} {clock},{_millis(ts)} - orders - ERROR - order {n} failed", "Traceback (most recent call last):",
                     '  File "/app/orders.py", line 41, in handle', "    store(order)", f"ValueError: order {n} has no customer"],
                    [f"INFO:     172.18.0.9:{n} - \"GET /health HTTP/1.1\" 200 OK"],
                ]
            )  # fmt: skip
        case "shop-spring":
            return random.choice(
                [
                    [f"{day}T{clock}.{_millis(ts)}Z  INFO 1 --- [shop] [           main] com.example.shop.OrderListener           : order {n} accepted"],
                    [f"{day}T{clock}.{_millis(ts)}Z ERROR 1 --- [shop] [nio-8080-exec-3] o.a.c.c.C.[.[.[/].[dispatcherServlet]    : Servlet.service() threw exception",
                     "", "java.lang.IllegalStateException: no stock", f"\tat com.example.shop.Stock.take(Stock.java:{n})", "\t... 42 common frames omitted"],
                ]
            )  # fmt: skip
        case "zookeeper":
            return [
                random.choice(
                    [
                        f"[{day} {clock},{_millis(ts)}] INFO Creating new log file: log.{n:x} (org.apache.zookeeper.server.persistence.FileTxnLog)",
                        f"[{day} {clock},{_millis(ts)}] INFO Expiring session 0x1000{n:08x}, timeout of 18000ms exceeded (org.apache.zookeeper.server.ZooKeeperServer)",
                        f"{day} {clock},{_millis(ts)} [myid:1] - INFO  [SyncThread:0:FileTxnLog@284] - Creating new log file: log.{n:x}",
                    ]
                )
            ]
        case "postgres":
            return [
                f"{day} {clock}.{_millis(ts)} UTC [{n}] LOG:  checkpoint starting: time",
                f"{day} {clock}.{_millis(ts)} UTC [{n}] DETAIL:  wrote {n} buffers",
            ]
        case "nginx":
            return [f'172.18.0.1 - - [{ts:%d/%b/%Y:%H:%M:%S} +0000] "GET /orders/{n} HTTP/1.1" 200 {n} "-" "curl/8.5.0" "-"']
        case "start-script":
            return [
                "===> Configuring ...",
                "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://broker:9092",
                "consumer.client.rack=",
                f"group.id=shop{n}",
                "===> Launching ... ",
            ]
        case "istio-proxy":
            return [f"{day}T{clock}.{ts.microsecond:06d}Z\tinfo\txdsproxy\tconnected to upstream XDS server: istiod.istio-system.svc:15012 n={n}"]
        case "app-json":
            return [json.dumps({"level": "info", "time": f"{day}T{clock}.{_millis(ts)}Z", "msg": f"order {n} stored", "pid": 7})]
    raise AssertionError(program)


OTHERS = ("orders-py", "shop-spring", "zookeeper", "postgres", "nginx", "start-script", "app-json")
_COLOURS = (36, 33, 32, 35, 34, 31)


def _compose(r: Printed, line: str) -> str:
    return f"{r.host + '-1':<14} | "


def _coloured(r: Printed, line: str) -> str:
    return f"\x1b[{_COLOURS[sum(r.host.encode()) % len(_COLOURS)]}m{r.host + '-1':<14} |\x1b[0m "


def _pod(r: Printed) -> str:
    return f"{r.host}-0"


def _container(r: Printed) -> str:
    return r.file.removesuffix(".log")


# One file for each process.


def _each(change: Callable[[str, Printed], str], name: str = "{host}.log", *, every: bool = True) -> Callable[[Logs, Random], Files]:
    """Write a file for each process; change its lines, or only the first one of each record."""

    def render(logs: Logs, random: Random) -> Files:
        return {
            name.format(host=host, file=records[0].file): _joined(
                change(line, r) if every or i == 0 else line for r in records for i, line in enumerate(r.lines)
            )
            for host, records in logs.items()
        }

    return render


def _recoded(recode: Callable[[str], bytes], render: Callable[[Logs, Random], Files] | None = None) -> Callable[[Logs, Random], Files]:
    def of(logs: Logs, random: Random) -> Files:
        files = render(logs, random) if render else plain(logs)
        return {path: recode(data.decode()) for path, data in files.items()}

    return of


def _utf16(text: str) -> bytes:
    return b"\xff\xfe" + text.replace("\n", "\r\n").encode("utf-16-le")


def _folded(width: int) -> Callable[[str], bytes]:
    def fold(text: str) -> bytes:
        lines = text.removesuffix("\n").split("\n")
        return _utf16("".join(line[i : i + width] + "\n" for line in lines for i in range(0, max(1, len(line)), width)))

    return fold


_NATIVE_ERROR = """kubectl : Defaulted container "{0}" out of: {0}, init (init)
At line:1 char:1
+ kubectl logs {1} > {1}.log
+ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
    + CategoryInfo          : NotSpecified: (Defaulted conta...nit (init):String) [], RemoteException
    + FullyQualifiedErrorId : NativeCommandError
\x20
"""


def _powershell_error(logs: Logs, random: Random) -> Files:
    return {path: _utf16(_NATIVE_ERROR.format("kafka", path.split("/")[0]) + data.decode()) for path, data in plain(logs).items()}


def _tail(lines: int) -> Callable[[Logs, Random], Files]:
    """`kubectl logs --tail`: the last lines, from within a record."""

    def render(logs: Logs, random: Random) -> Files:
        return {path: _joined(data.decode().removesuffix("\n").split("\n")[-lines:]) for path, data in plain(logs).items()}

    return render


def _since(logs: Logs, random: Random) -> Files:
    """`kubectl logs --since`: all lines from a moment on."""
    every = _in_turn(logs)
    begin = every[len(every) // 3].ts
    return plain({host: kept for host, records in logs.items() if (kept := [r for r in records if r.ts >= begin])})


def _grep(line_of: Callable[[Printed, int, str], str], name: str = "hits.txt", context: int = 0) -> Callable[[Logs, Random], Files]:
    """Search all logs for words about groups; with lines of context around each hit."""

    def render(logs: Logs, random: Random) -> Files:
        out: list[str] = []
        for host, records in logs.items():
            lines = [(i, line) for i, line in enumerate(_joined(r.text for r in records).decode().removesuffix("\n").split("\n"))]
            hits = [i for i, line in lines if _OF_GROUPS.search(line)]
            wanted = sorted({j for i in hits for j in range(max(0, i - context), min(len(lines), i + context + 1))})
            is_hit = set(hits)
            for before, i in zip([None, *wanted], wanted, strict=False):
                if context and before is not None and i > before + 1:
                    out.append("--")
                text = line_of(records[0], i + 1, lines[i][1])
                out.append(text if i in is_hit else re.sub(r":(\d+):|:(?=\[)|:(?=\t)", lambda m: f"-{m[1]}-" if m[1] else "-", text, count=1))
            if context and host != next(reversed(logs)):
                out.append("--")
        return {name: _joined(out)}

    return render


def _fields(r: Printed) -> dict[str, str]:
    """Return what Kafka's layout printed: time, level, message, logger, line and stack trace."""
    found = _KAFKA.match(r.text)
    if found is None:
        raise ValueError(f"not in Kafka's layout: {r.lines[0]}")
    return {name: text or "" for name, text in found.groupdict().items()}


def _is_whole(r: Printed) -> bool:
    return _KAFKA.match(r.text) is not None


def _printed(form: Callable[[Printed, dict[str, str]], str], name: str = "{host}/app.log") -> Callable[[Logs, Random], Files]:
    """Print the records in another layout."""

    def render(logs: Logs, random: Random) -> Files:
        return {name.format(host=host): _joined(form(r, _fields(r)) for r in records if _is_whole(r)) for host, records in logs.items()}

    return render


def _jul(r: Printed, f: dict[str, str]) -> str:
    level = {"WARN": "WARNING", "ERROR": "SEVERE", "DEBUG": "FINE", "TRACE": "FINER"}.get(f["level"], f["level"])
    hour = r.ts.hour % 12 or 12
    return f"{r.ts:%b} {r.ts.day}, {r.ts.year} {hour}:{r.ts:%M:%S %p} {f['logger']} run\n{level}: {f['message']}{f['trace']}"


def _spring(r: Printed, f: dict[str, str]) -> str:
    name = f["logger"].split(".")
    while len(".".join(name)) > 40 and any(len(n) > 1 for n in name[:-1]):
        at = next(i for i, n in enumerate(name[:-1]) if len(n) > 1)
        name[at] = name[at][0]
    return f"{r.ts:%Y-%m-%d %H:%M:%S}.{_millis(r.ts)} {f['level']:>5} 1 --- [{'main':>15}] {'.'.join(name)[-40:]:<40} : {f['message']}{f['trace']}"


# Exports of stores: a row or an object for each record, or for each line.


def _table(
    header: Sequence[str], row: Callable[[Printed], Sequence[str]], name: str, *, newest_first: bool = False
) -> Callable[[Logs, Random], Files]:
    def render(logs: Logs, random: Random) -> Files:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(header)
        every = _in_turn(logs)
        for r in reversed(every) if newest_first else every:
            writer.writerow(row(r))
        return {name: out.getvalue().encode()}

    return render


def _objects(encode: Callable[[Printed], object], name: str, *, lines: bool = False) -> Callable[[Logs, Random], Files]:
    """Write an object for each record of all processes, or for each of its lines."""

    def render(logs: Logs, random: Random) -> Files:
        parts = (replace(r, lines=(line,)) for r in _in_turn(logs) for line in r.lines) if lines else _in_turn(logs)
        return {name: _joined(json.dumps(encode(r)) for r in parts)}

    return render


def _document(encode: Callable[[list[Printed]], object], name: str) -> Callable[[Logs, Random], Files]:
    return lambda logs, random: {name: json.dumps(encode(_in_turn(logs)), indent=1).encode()}


def _epoch_ms(ts: datetime) -> int:
    return round((ts - datetime(1970, 1, 1)) / timedelta(milliseconds=1))  # noqa: DTZ001


def _hits(records: list[Printed]) -> object:
    """Return an answer of Elasticsearch, its newest record first."""
    hits = [
        {
            "_index": "kafka",
            "_id": str(i),
            "_source": {"@timestamp": _stamp(r.ts)[:23] + "Z", "message": r.text, "kubernetes": {"pod": {"name": _pod(r)}}},
        }
        for i, r in enumerate(reversed(records))
    ]
    return {"took": 7, "timed_out": False, "hits": {"total": {"value": len(hits)}, "hits": hits}}


def _loki(records: list[Printed]) -> object:
    streams: dict[str, list[list[str]]] = {}
    for r in records:
        streams.setdefault(_pod(r), []).append([f"{_epoch_ms(r.ts)}000713", r.text])
    return {"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"pod": pod}, "values": v} for pod, v in streams.items()]}}


def _otlp(records: list[Printed]) -> object:
    by: dict[str, list[object]] = {}
    for r in records:
        by.setdefault(r.host, []).append({"timeUnixNano": f"{_epoch_ms(r.ts)}000000", "severityText": "INFO", "body": {"stringValue": r.text}})
    return {
        "resourceLogs": [
            {"resource": {"attributes": [{"key": "host.name", "value": {"stringValue": host}}]}, "scopeLogs": [{"scope": {}, "logRecords": logs}]}
            for host, logs in by.items()
        ]
    }


def _gelf(r: Printed) -> object:
    return {"version": "1.1", "host": r.host, "short_message": r.lines[0], "full_message": r.text, "timestamp": _epoch_ms(r.ts) / 1000, "level": 6}


def _kibana(ts: datetime) -> str:
    return f"{ts:%b} {ts.day}, {ts.year} @ {ts:%H:%M:%S}.{_millis(ts)}"


def _kibana_copy(logs: Logs, random: Random) -> Files:
    """Rows copied from Kibana's table, the newest first."""
    return {
        f"{host}.txt": _joined(f"{_kibana(r.ts)}\t{line}" if i == 0 else line for r in reversed(records) for i, line in enumerate(r.lines))
        for host, records in logs.items()
    }


# Files of one process.


def _rotated(logs: Logs, random: Random) -> Files:
    """Rotate a broker's log; `kafkaServer.out` has the same lines again, and what the JVM prints."""
    files: Files = {}
    for host, records in logs.items():
        half = len(records) // 2
        name = records[0].file
        files[f"{host}/{name}.{records[0].ts:%Y-%m-%d-%H}"] = _joined(r.text for r in records[:half])
        files[f"{host}/{name}"] = _joined(r.text for r in records[half:])
        out = "kafkaServer.out" if name == "server.log" else name.removesuffix(".log") + ".out"
        files[f"{host}/{out}"] = b"OpenJDK 64-Bit Server VM warning: Option UseConcMarkSweepGC was deprecated\n" + _joined(r.text for r in records)
    return files


def _with_zookeeper(logs: Logs, random: Random) -> Files:
    """The console of a process and of ZooKeeper in one file, without a name before the lines."""
    files = {}
    for host, records in logs.items():
        lines: list[str] = []
        for r in records:
            lines += r.lines
            if random.random() < 0.3:
                lines += _other("zookeeper", r.ts, random)
        files[f"{host}/console.log"] = _joined(lines)
    return files


def _readme(logs: Logs, random: Random) -> Files:
    """A report in Markdown, with a JSON request between the parts of a log."""
    request = '```json\n{\n  "name": "orders-sink",\n  "config": {"tasks.max": "3", "topics": "orders"}\n}\n```\n'
    files = {}
    for host, records in logs.items():
        half = len(records) // 2
        parts = [_joined(r.text for r in some).decode() for some in (records[:half], records[half:])]
        files[f"{host}.md"] = (
            f"# {host} rebalances all the time\n\nWe created the connector with\n\n{request}\nand then this happened:\n\n```\n{parts[0]}```\n\n"
            f"Later:\n\n```\n{parts[1]}```\n\nAny idea?\n"
        ).encode()
    return files


def _one_line(logs: Logs, random: Random) -> Files:
    """A paste in which the line breaks between some records are lost."""
    files = {}
    for host, records in logs.items():
        text = records[0].text
        for r in records[1:]:
            text += (" " if random.random() < 0.5 else "\n") + r.text
        files[f"{host}.txt"] = text.encode() + b"\n"
    return files


def _headings(logs: Logs, random: Random) -> Files:
    """`tail` of several files."""
    out = [f"==> {path} <==\n{data.decode()}" for path, data in plain(logs).items()]
    return {"all.txt": "\n".join(out).encode()}


def _followed(logs: Logs, random: Random) -> Files:
    """`tail -f` of several files: a heading whenever another file has a line."""
    out: list[str] = []
    last = ""
    for r in _in_turn(logs):
        if r.host != last:
            out += ["", f"==> {r.host}/{r.file} <=="] if last else [f"==> {r.host}/{r.file} <=="]
            last = r.host
        out += r.lines
    return {"all.txt": _joined(out)}


# Lines that are cut, traces that are shortened, names that are masked.


def _cut(width: int, end: str = "") -> Callable[[Logs, Random], Files]:
    return _each(lambda line, r: line if len(line) <= width else line[: width - len(end)] + end, "{host}/{file}")


def _shortened(logs: Logs, random: Random) -> Files:
    def short(r: Printed) -> Printed:
        frames = [i for i, line in enumerate(r.lines) if line.startswith("\tat ")]
        if len(frames) < 3:
            return r
        kept = [line for i, line in enumerate(r.lines) if i not in frames[2:]]
        at = kept.index(r.lines[frames[1]]) + 1
        return replace(r, lines=(*kept[:at], f"\t... {len(frames) - 2} more", *kept[at:]))

    return plain({host: [short(r) for r in records] for host, records in logs.items()})


_MEMBER = r"[A-Za-z0-9._:-]+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
#: Words after `group` that are not its name.
_NO_NAME = "is|has|assignment|instanceid|now|coordinator|due|in|with|protocol|after|to|because|metadata|instance|epoch|type|for|and|but|state|from|rebalance|membership|upgraded|downgraded|during|at"


def _masking(mask: str, *kinds: str) -> Callable[[str], str]:
    """Return what replaces names of members, hosts, groups and clients by a mask."""
    patterns = {
        "member": (_MEMBER, mask),
        "host": (r"(?m)(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?=[:/),]|$)", mask),
        "group": (rf"(\bgroupId=|\b[Gg]roup )(?!(?:{_NO_NAME})\b)([A-Za-z0-9._-]+)", rf"\g<1>{mask}"),
        "client": (r"(\bclientId=|\bclient id )[^\s,\])]+", rf"\g<1>{mask}"),
    }

    def one(text: str) -> str:
        for kind in kinds:
            text = re.sub(*patterns[kind], text)
        return text

    return one


def _masked(name: str, mask: str, *kinds: str) -> Shape:
    one = _masking(mask, *kinds)

    def render(logs: Logs, random: Random) -> Files:
        return {path: one(data.decode()).encode() for path, data in plain(logs).items()}

    return Shape(name, render, ("values",), mask=one)


def _zones(logs: Logs, random: Random) -> Files:
    """Print the times of each process in another zone, with its offset."""
    files = {}
    for i, (host, records) in enumerate(logs.items()):
        offset = timedelta(hours=(0, 2, -5, 5.5)[i % 4])
        zone = timezone(offset)

        def head(line: str, r: Printed, offset: timedelta = offset, zone: timezone = zone) -> str:
            local = (r.ts + offset).replace(tzinfo=zone)
            return f"[{local:%Y-%m-%dT%H:%M:%S}.{_millis(r.ts)}{local:%z}] {line[26:]}"

        files[f"{host}/{records[0].file}"] = _joined(head(line, r) if j == 0 else line for r in records for j, line in enumerate(r.lines))
    return files


def _head_as(form: Callable[[Printed], str]) -> Callable[[Logs, Random], Files]:
    """Print another time before each record, in place of `[time] `."""
    return _each(lambda line, r: form(r) + line[26:], "{host}/{file}", every=False)


def _zipped(render: Callable[[Logs, Random], Files]) -> Callable[[Logs, Random], Files]:
    return lambda logs, random: {f"{path}.gz": gzip.compress(data, mtime=0) for path, data in render(logs, random).items()}


SHAPES: tuple[Shape, ...] = (
    # docker compose
    Shape("compose", _prefixed(_compose)),
    Shape("compose, coloured", _prefixed(_coloured)),
    Shape("compose, names with an underscore", _prefixed(lambda r, line: f"{r.host + '_1':<14} | ")),
    Shape("compose, names without a number", _prefixed(lambda r, line: f"{r.host:<12} | ")),
    Shape("compose --timestamps", _prefixed(lambda r, line: f"{r.host + '-1':<14} | {_stamp(r.ts)} ")),
    Shape("compose, a record's lines between others", _prefixed(_compose, torn=0.5)),
    *(Shape(f"compose, with {other}", _prefixed(_compose, (other,))) for other in OTHERS),
    Shape("compose, with all other programs", _prefixed(_compose, OTHERS)),
    Shape("compose, with all other programs, coloured", _prefixed(_coloured, OTHERS, torn=0.3)),
    Shape("compose, redirected by PowerShell", _recoded(_utf16, _prefixed(_compose, ("orders-py",)))),
    # Kubernetes
    Shape("kubectl --prefix", _prefixed(lambda r, line: f"[pod/{_pod(r)}/{_container(r)}] ", name="pods.log")),
    Shape("kubectl --prefix --timestamps", _prefixed(lambda r, line: f"[pod/{_pod(r)}/{_container(r)}] {_stamp(r.ts)} ", name="pods.log")),
    Shape("kubectl --timestamps", _each(lambda line, r: f"{_stamp(r.ts)} {line}")),
    Shape("kubectl --all-containers", _prefixed(lambda r, line: f"[pod/{_pod(r)}/{_container(r)}] ", ("istio-proxy", "app-json"), name="pods.log")),
    Shape("kubectl --tail", _tail(60), ("records", "values", "message")),
    Shape("kubectl --since", _since, ("records",)),
    Shape("stern", _prefixed(lambda r, line: f"{_pod(r)} {_container(r)} ", name="stern.log")),
    Shape("stern --timestamps", _prefixed(lambda r, line: f"{_pod(r)} {_container(r)} {_stamp(r.ts)} ", name="stern.log")),
    Shape("CRI", _each(lambda line, r: f"{_stamp(r.ts)} stdout F {line}")),
    Shape("journald", _prefixed(lambda r, line: f"{r.ts:%b %d %H:%M:%S} {r.host} kafka[{7 + len(r.host)}]: ", name="journal.txt")),
    # PowerShell
    Shape("PowerShell", _recoded(_utf16)),
    Shape("PowerShell, 80 columns", _recoded(_folded(80))),
    Shape("PowerShell, 120 columns", _recoded(_folded(120))),
    Shape("PowerShell, with kubectl's error", _powershell_error),
    # pastes
    Shape("quoted with >", _each(lambda line, r: f"> {line}")),
    Shape("quoted with #", _each(lambda line, r: f"# {line}")),
    Shape("indented by tabs", _each(lambda line, r: f"\t{line}")),
    Shape("after a shell prompt", _each(lambda line, r: f"[root@{r.host} kafka]# {line}")),
    Shape("after another shell prompt", _each(lambda line, r: f"admin@{r.host}:~$ {line}")),
    Shape("cut at 150 characters", _cut(150), ("records", "values", "message", "line", "logger")),
    Shape("cut at 250 characters", _cut(250), ("records", "values", "message", "line", "logger")),
    Shape("cut, with dots", _cut(160, "..."), ("records", "values", "message", "line", "logger")),
    Shape("stack traces shortened", _shortened, ("message",)),
    Shape("records on one line", _one_line),
    Shape("README with JSON", _readme),
    Shape("tail of several files", _headings),
    Shape("tail -f of several files", _followed),
    # selections
    Shape("grep", _grep(lambda r, n, line: f"{r.host}/{r.file}:{line}"), ("records", "values", "message", "line", "logger")),
    Shape("grep -n", _grep(lambda r, n, line: f"{r.host}/{r.file}:{n}:{line}"), ("records", "values", "message", "line", "logger")),
    Shape("grep -n -C 2", _grep(lambda r, n, line: f"{r.host}/{r.file}:{n}:{line}", context=2), ("records", "values", "message", "line", "logger")),
    Shape("zgrep", _grep(lambda r, n, line: f"/var/log/{r.host}/{r.file}.2026-11-21-08.gz:{line}"), ("records", "values", "message", "line", "logger")),
    Shape("bzgrep", _grep(lambda r, n, line: f"/var/log/{r.host}/{r.file}.2026-11-21-08.bz2:{line}"), ("records", "values", "message", "line", "logger")),
    # stores
    Shape("Elasticsearch hits", _document(_hits, "answer.json")),
    Shape("Kibana, copied", _kibana_copy),
    Shape("CloudWatch CSV", _table(["timestamp", "message", "logStreamName"], lambda r: [str(_epoch_ms(r.ts)), r.text, _pod(r)], "logs.csv")),
    Shape("Datadog CSV", _table(["Date", "Host", "Service", "Message"], lambda r: [_stamp(r.ts)[:23] + "Z", r.host, "kafka", r.text], "logs.csv", newest_first=True)),
    Shape("Kibana CSV", _table(["@timestamp", "kubernetes.pod.name", "message"], lambda r: [_kibana(r.ts), _pod(r), r.text], "logs.csv", newest_first=True)),
    Shape("Loki answer", _document(_loki, "answer.json")),
    Shape("logcli", _prefixed(lambda r, line: f'{r.ts:%Y-%m-%dT%H:%M:%S}Z {{app="kafka", pod="{_pod(r)}"}} ', name="logcli.txt")),
    Shape("GELF", _objects(_gelf, "gelf.json")),
    Shape("OTLP", _document(_otlp, "otlp.json")),
    Shape("docker's files", lambda logs, random: {
        f"{host}-json.log": _joined(json.dumps({"log": line + "\n", "stream": "stdout", "time": _stamp(r.ts)}) for r in records for line in r.lines) for host, records in logs.items()}),
    Shape("fluent-bit", _objects(lambda r: {"date": _epoch_ms(r.ts) / 1000, "log": r.text, "kubernetes": {"pod_name": _pod(r), "container_name": "kafka"}}, "fluent.json", lines=True)),
    Shape("AWS logs tail", _prefixed(lambda r, line: f"{_stamp(r.ts)[:26]}+00:00 kafka/{_pod(r)} ", name="aws.txt")),
    # files
    Shape("rotated by hour, kafkaServer.out beside", _rotated, ("once",)),
    Shape("packed", _zipped(lambda logs, random: plain(logs))),
    Shape("broker and ZooKeeper in one file", _with_zookeeper),
    # layouts, and what they lose
    Shape("java.util.logging", _printed(_jul), ("line",), resolution_ms=1000),
    Shape("Spring Boot", _printed(_spring), ("line",)),
    Shape("whole seconds", _head_as(lambda r: f"[{r.ts:%Y-%m-%d %H:%M:%S}] "), resolution_ms=1000),
    Shape("no year", _head_as(lambda r: f"{r.ts:%b %d %H:%M:%S}.{_millis(r.ts)} "), ("date",)),
    Shape("no date", _head_as(lambda r: f"{r.ts:%H:%M:%S},{_millis(r.ts)} "), ("date",)),
    Shape("no time", _head_as(lambda r: ""), ("time",)),
    Shape("several time zones", _zones),
    # masks
    _masked("masked hosts", "kafka1", "host"),
    _masked("masked by dots", "...", "member", "host", "client", "group"),
    _masked("masked by stars", "***", "member", "host", "client", "group"),
    _masked("masked by words", "<redacted>", "member", "host", "client", "group"),
)  # fmt: skip
