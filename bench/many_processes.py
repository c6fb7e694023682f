"""Measure many small processes: logs of several hundred Kafka clusters, each with a broker and three clients, generated from the samples.

    python bench/many_processes.py WORKFOLDER --processes 1900 --engines sail

Each copy of a sample is a cluster of its own: it has other addresses, groups, members and cluster IDs, and is some seconds later than the copy
before. Of each log, at most 200 single-line records stay, in their order: those about groups, and those that name the cluster. The samples'
consumers and brokers have no others.
"""

from __future__ import annotations

import argparse
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from views_cost import built

SAMPLES = Path(__file__).resolve().parent.parent / "sample_logs"
#: Samples of Connect workers and consumers. A new sample would change the figures.
NAMES = (
    "rolling-bounce-skewed-clocks-3.9.1",
    "session-timeouts-consumers-3.9.1",
    "split-brain-frozen-worker-3.9.1",
    "split-brain-partitioned-worker-2.3.0",
)
MOST = 200
SECONDS_APART = 7
_HEAD = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] ")
_ABOUT_GROUPS = re.compile(
    r"[.](?:ConsumerCoordinator|WorkerCoordinator|AbstractCoordinator|ConsumerRebalanceListenerInvoker|\w*KafkaConsumer|DistributedHerder|Worker"
    r"|GroupCoordinator|GroupMetadataManager|SubscriptionState|Fetcher|AppInfoParser|KafkaServer|KafkaRaftServer)(?::\d+)?\)$|[Cc]luster ?I[Dd]"
)
#: A broker's lines about its partitions, not about groups.
_OF_PARTITIONS = re.compile(r"Elected as the group|Scheduling (?:un)?loading|Finished (?:un)?loading")
_CLUSTER_ID = re.compile(r"(?:[Cc]luster ?I[Dd])\W+([\w-]{22})\b")
_ADDRESS = re.compile(r"\b10\.77\.0\.(?=\d)")
_STARTED = re.compile(r"(?<=startTimeMs: )\d+")
_MEMBER = re.compile(r"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)")
_GROUP = re.compile(r"\b(connect-cluster|connect-[a-c]|orders-app)\b")


def small_logs(sample: Path) -> dict[str, list[str]]:
    """Return the lines that stay of a sample's logs, by path in its folder."""
    found = {}
    for path in sorted((sample / "logs").rglob("*.log")):
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [text for text in lines if _HEAD.match(text) and _ABOUT_GROUPS.search(text) and not _OF_PARTITIONS.search(text)]
        found[str(path.relative_to(sample / "logs"))] = kept[:MOST]
    return found


def copied(lines: list[str], number: int) -> str:
    """Return these lines as another cluster would have written them."""
    address, late = f"10.{100 + number // 250}.{number % 250}.", timedelta(seconds=SECONDS_APART * number)
    written = []
    for text in lines:
        head = _HEAD.match(text)
        assert head
        at = datetime.fromisoformat(head[1]) + late  # noqa: DTZ007 (as in the log)
        text = _CLUSTER_ID.sub(lambda m: m[0].replace(m[1], f"{number:06d}{m[1][6:]}"), text[head.end() :])
        text = _STARTED.sub(lambda m: str(int(m[0]) + SECONDS_APART * 1000 * number), text)
        text = _ADDRESS.sub(address, text)
        text = _MEMBER.sub(lambda m: f"{(int(m[0], 16) + number) % 2**32:08x}", text)
        text = _GROUP.sub(lambda m: f"{m[1]}-{number:04d}", text)
        written.append(f"[{at:%Y-%m-%d %H:%M:%S},{head[2]}] {text}\n")
    return "".join(written)


def make(folder: Path, processes: int) -> None:
    """Write a folder of logs for this number of processes."""
    samples = [small_logs(SAMPLES / name) for name in NAMES]
    number = made = 0
    while made < processes:
        for name, lines in samples[number % len(samples)].items():
            if made < processes:
                path = folder / f"cluster-{number:04d}" / name
                path.parent.mkdir(parents=True)
                path.write_text(copied(lines, number), encoding="utf-8")
                made += 1
        number += 1


def many(folder: Path, processes: int, engine: str) -> dict[str, Any]:
    """Read the logs of this number of processes and build all views.

    Returns:
        The results of `built`, with `processes`, `lines` and `bytes` of the logs.
    """
    logs = folder / f"processes-{processes}"
    if not logs.exists():
        make(logs, processes)
    texts = [path.read_bytes() for path in logs.rglob("*.log")]
    size = {"processes": len(texts), "lines": sum(text.count(b"\n") for text in texts), "bytes": sum(map(len, texts))}
    return {"engine": engine, **size, **built(logs, folder / f"case-processes-{processes}-{engine}", engine)}


def main() -> None:
    """Generate the logs, build their case on each engine, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=1900)
    parser.add_argument("--engines", nargs="+", default=["sail"])
    options = parser.parse_args()
    for engine in options.engines:
        print(json.dumps(many(options.folder, options.processes, engine)), flush=True)


if __name__ == "__main__":
    main()
