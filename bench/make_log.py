"""Generate a large worker log for benchmarks: real records of relevant loggers among many others.

    python bench/make_log.py LOGS OUT --gigabytes 2 --relevant 0.05

LOGS is a folder of real logs in Kafka's default layout. The share `--relevant` of the written lines are records from it whose logger the catalogue
knows (with their continuation lines); the rest are records of connectors, converters, REST and applications, sometimes with a stack trace. Times rise
steadily; the same arguments produce the same file.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forensics.catalogue.patterns import load
from forensics.catalogue.recogniser import Recogniser
from forensics.records.layouts import packaged
from forensics.records.line_reader import Profile, RecordReader, read_records

BLOCK_LINES = 40_000
START = datetime(2026, 11, 21, tzinfo=UTC)
_TIME = re.compile(r"^\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8},[0-9]{3}\]")
_NOISE = (
    "INFO [{c}|task-{t}] Wrote {n} records to table {w}_{w} in {m} ms (io.confluent.connect.jdbc.sink.BufferedRecords:{t}7)",
    "DEBUG [{c}|task-{t}] Flushing {n} records for topic-partition {w}.{w}-{t} (com.example.connect.s3.TopicPartitionWriter:{t}41)",
    'INFO 10.0.{t}.{t} - - [21/Nov/2026:10:00:00 +0000] "GET /connectors/{c}/status HTTP/1.1" 200 {n} "-" "curl/8.5.0" {m} (org.eclipse.jetty.server.RequestLog:62)',
    "WARN [{c}|task-{t}] Slow query took {m} ms: SELECT * FROM {w}.{w} WHERE id > {n} ORDER BY id LIMIT 1000 (io.debezium.jdbc.JdbcConnection:{t}88)",
    "INFO [{c}|task-{t}] {n} records sent during previous 00:00:{t}0.{m}, last recorded offset: {{server={w}, lsn={n}{m}}} (io.debezium.connector.common.BaseSourceTask:{t}42)",
    "TRACE {w} handler processed request {n} of session {m} for tenant {w} (com.example.app.http.RequestHandler:{t}15)",
    "INFO [{c}|task-{t}] Opened stream for file {w}/{w}/{w}-{n}.parquet with {m} row groups (com.example.storage.ObjectStore$Writer:{t}3)",
)
_TRACE = (
    "ERROR [{c}|task-{t}] Could not store a row, will try again (com.example.connect.s3.TopicPartitionWriter:99)\njava.io.IOException: {w} broken pipe\n"
    + "".join(
        f"\tat com.example.connect.s3.{name}.write({name}.java:{40 + i})\n"
        for i, name in enumerate(("Uploader", "Multipart", "Buffer", "TopicPartitionWriter"))
    )
)
_WORDS = ("orders", "payments", "users", "clicks", "stock", "invoice", "session", "billing", "audit", "events")


def relevant_records(folder: Path) -> list[str]:
    """Return the records of the logs whose logger has a pattern, without their times; each ends with a line break."""
    recogniser = Recogniser(load())
    reader = RecordReader(packaged(), Profile())
    found = []
    for file in sorted(folder.rglob("*.log")):
        for placed in read_records(file.read_bytes(), reader):
            text = placed.raw.decode("utf-8", "replace")
            if placed.record.logger and recogniser.is_interesting(placed.record.logger) and _TIME.match(text):
                found.append(_TIME.sub("", text, count=1).rstrip("\n") + "\n")
    return found


def blocks(relevant: list[str], share: float, seed: int) -> Iterator[list[str]]:
    """Yield records without their times, in blocks of about `BLOCK_LINES` lines, for ever."""
    rng = random.Random(seed)
    while True:
        block, lines, good = [], 0, 0
        while lines < BLOCK_LINES:
            if good < share * lines:
                text = rng.choice(relevant)
                good += text.count("\n")
            else:
                template = _TRACE if rng.random() < 0.002 else rng.choice(_NOISE)
                text = " " + template.format(
                    c=rng.choice(_WORDS) + "-sink", t=rng.randrange(1, 9), n=rng.randrange(10_000), m=rng.randrange(100, 999), w=rng.choice(_WORDS)
                )
                text = text if text.endswith("\n") else text + "\n"
            lines += text.count("\n")
            block.append(text)
        yield block


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("logs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--relevant", type=float, default=0.05)
    args = parser.parse_args()
    relevant = relevant_records(args.logs)
    source = blocks(relevant, args.relevant, seed=1)
    some = [next(source) for _ in range(20)]
    written, number, time = 0, 0, START
    with args.out.open("w", encoding="utf-8") as out:
        while written < args.gigabytes * 1e9:
            parts = []
            for text in some[number % len(some)]:
                time += timedelta(milliseconds=3)
                parts.append(f"[{time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03d}]{text}")
            data = "".join(parts)
            written += out.write(data)
            number += 1


if __name__ == "__main__":
    main()
