"""A day of a group that never settles: more generations and ownerships than a page can draw one by one. Made by hand, without Spark."""

from __future__ import annotations

from typing import Any

from made_case import at, generation, owned, rows, split, worker

WORKERS = ("w1", "w2", "w3", "w4")
DAY = 86_400.0


def storm(generations: int = 10_000, ownerships: int = 100_000, resources: int = 200, overlaps: int = 60) -> dict[str, list[dict[str, Any]]]:
    """The views' rows.

    Args:
        generations: of the one group, evenly over a day.
        ownerships: of all resources together, one after the other.
        resources: partitions.
        overlaps: of so many ownerships the next owner comes two seconds too early.
    """
    views = rows()
    day = {"first_ts": at(0), "last_ts": at(DAY)}
    broker = worker("b1") | {"process_id": "b1/server.log", "role": "broker"}
    views["process"] = [p | day for p in (broker, *map(worker, WORKERS))]
    views["source_file"] = [f | day for f in views["source_file"]]
    views["coverage"] = []
    views["member_generation"] = []
    views["generation"] = [
        generation(n, n * DAY / generations, trigger="member_expired" if n % 3 else "member_joined") for n in range(1, generations + 1)
    ]
    each = ownerships // resources
    length = DAY / each
    views["ownership"], views["split_brain"] = [], []
    for r in range(resources):
        for n in range(each):
            begin, end = n * length + 0.4, (n + 1) * length - 0.4
            early = r < overlaps and n == each // 2
            name, who = f"orders-{r}", WORKERS[(r + n) % len(WORKERS)]
            views["ownership"].append(
                owned(
                    name,
                    who,
                    ownership_id=f"{r * each + n:016x}",
                    resource_kind="partition",
                    start_lo=at(begin - (2.8 if early else 0)),
                    start_hi=at(begin + 0.01 - (2.8 if early else 0)),
                    stop_lo=at(end),
                    stop_hi=at(end + 0.01),
                    witness=[],
                )
            )
            if early:
                views["split_brain"].append(
                    split(
                        name,
                        resource_kind="partition",
                        kind="held",
                        process_a=f"{WORKERS[(r + n - 1) % len(WORKERS)]}/connect.log",
                        process_b=f"{who}/connect.log",
                        ownership_a=f"{r * each + n - 1:016x}",
                        ownership_b=f"{r * each + n:016x}",
                        from_lo=at(begin - 2.8),
                        from_hi=at(begin - 2.79),
                        to_lo=at(n * length - 0.4),
                        to_hi=at(n * length - 0.39),
                        certain_ms=1590,
                        possible_ms=1610,
                        witness=["e1", "e2"],
                    )
                )
    return views
