"""Generate a large worker log for benchmarks in the order in which workers print: logs of real workers, one after the other.

    python bench/ordered_log.py LOGS OUT --megabytes 256 [--keep-ids]
    python bench/ordered_log.py LOGS/w1/connect.log OUT --megabytes 256 --one

LOGS is a folder of workers' logs in Kafka's default layout, or one such log. Each repetition continues the time of the one before. As in production, most
messages are new: offsets, sequence numbers, sizes and durations differ each time. Member ids and cluster ids are new in each repetition, unless
`--keep-ids` is given; with `--one` only member ids are, as for one worker that restarts. The same arguments produce the same file.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from make_log import START

PAUSE = timedelta(seconds=5)
_TIME = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")
_MEMBER = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CLUSTER = r"(?<=[Cc]luster ID: )[\w-]{22}|(?<=clusterId=)[\w-]{22}"
_NUMBER = re.compile(
    r"(?:(?<=offset[= ])|(?<=sequence number )|(?<=correlationId=)|(?<=correlation id )|(?<=epoch=)|(?<=took )|(?<=ms=)|(?<=size=))\d+|(?<=in )\d+(?= ms)"
)
#: A time since the first line, and the text after the time; None for lines that continue a record.
Lines = list[tuple[timedelta | None, str]]


def lines_of(file: Path) -> Lines:
    """Return the lines of a log from its first time on."""
    found: Lines = []
    first: datetime | None = None
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _TIME.match(line)
        at = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=START.tzinfo) if match else None
        first = first or at
        if match and at and first:
            found.append((at - first, line[match.end() :]))
        elif found:
            found.append((None, line))
    return found


def ordered(logs: Sequence[Lines], ids: re.Pattern[str] | None, rng: random.Random) -> Iterator[str]:
    """Yield lines of the logs, in a new order of logs again and again, for ever."""
    begin = START
    while True:
        for log in rng.sample(logs, len(logs)):
            new: dict[str, str] = {}

            def anew(found: re.Match[str], new: dict[str, str] = new) -> str:
                return new.setdefault(found[0], "".join(c if c == "-" else f"{rng.randrange(16):x}" for c in found[0]))

            for since, text in log:
                if since is None:
                    yield f"{text}\n"
                    continue
                text = _NUMBER.sub(lambda found: str(rng.randrange(10 ** len(found[0]))), text)  # noqa: PLW2901
                time = begin + since
                yield f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03d}]{ids.sub(anew, text) if ids else text}\n"
            begin += max(since for since, _ in log if since is not None) + PAUSE


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("logs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=float, default=256)
    parser.add_argument("--keep-ids", action="store_true")
    parser.add_argument("--one", action="store_true")
    args = parser.parse_args()
    files = [args.logs] if args.logs.is_file() else sorted(args.logs.rglob("connect*.log"))
    logs = [log for log in map(lines_of, files) if log]
    if not logs:
        parser.error(f"{args.logs} contains no worker's log (connect*.log) in Kafka's default layout")
    ids = None if args.keep_ids else re.compile(_MEMBER if args.one else f"{_MEMBER}|{_CLUSTER}")
    written = 0
    with args.out.open("w", encoding="utf-8") as out:
        for line in ordered(logs, ids, random.Random(7)):
            written += out.write(line)
            if written >= args.megabytes * 1e6:
                return


if __name__ == "__main__":
    main()
