# SPDX-License-Identifier: Apache-2.0
"""Comparing the views about producers, Streams and failed tasks with what the clients and the REST API said of themselves."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from scoring import INFINITE, Clock, Row, Score, bounds_of, judge_point, owner_of
from truth import SAMPLE_MS, STREAMS_MS, Recording

#: The REST API shows a failure when its worker has read it from the status topic; it was asked about twice a second.
STATUS_MS = 2_000
#: The innermost cause of a stack trace.
RE_CAUSED_BY = re.compile(r"^(?:Caused by: )?(?P<exception>[\w.$]+(?:Exception|Error)\b)", re.MULTILINE)


def score_producers(recording: Recording, rows: list[Row], clock: Clock) -> Score:
    """Compare `producer_session` with every epoch with which a producer said that it was initialized: process, epoch and time."""
    score, names = Score(), recording.named("producer")
    unseen = [row for row in rows if owner_of(row["process_id"], names)]
    for name in names:
        for line in recording.said_by(name):
            if line["event"] != "initialised":
                continue
            score.total += 1
            epoch = (line["producer_id"], line["epoch"])
            mine = [r for r in unseen if owner_of(r["process_id"], [name]) and (r["producer_id"], r["first_epoch"]) == epoch]
            starts = [
                (clock.true_ms(r["process_id"], r["start_lo"], -INFINITE), clock.true_ms(r["process_id"], r["start_hi"], INFINITE)) for r in mine
            ]
            if [True for lo, hi in starts if lo - STREAMS_MS <= line["t_ms"] <= hi + STREAMS_MS] == [True]:
                score.right += 1
                unseen.remove(mine[0])
            else:
                score.wrong.append(f"{name} had producer id {epoch[0]} with epoch {epoch[1]}: {len(mine)} rows of `producer_session` say so")
    score.wrong += [f"{r['process_id']} never had epoch {r['first_epoch']} of {r['transactional_id']}" for r in unseen]
    return score


def score_streams(recording: Recording, rows: list[Row], clock: Clock) -> Score:
    """Compare `stream_task` with the active and standby tasks that each thread listed in samples of its own process.

    A thread lists an assigned task when it has restored its state. Samples of an instance that is rebalancing are left out, because it still
    lists the tasks of the assignment before.
    """
    score, faults = Score(), Counter[str]()
    names = recording.named("streams")
    bounds: dict[tuple[str, str, str], list[tuple[float, float, float, float]]] = defaultdict(list)
    for row in rows:
        bounds[owner_of(row["process_id"], names) or "", str(row["task"]), str(row["role"])].append(bounds_of(row, clock))
    for name in names:
        samples = [x for x in recording.said_by(name) if "threads" in x]
        tasks = {(task, role) for x in samples for thread in x["threads"] for role in ("active", "standby") for task in thread[role]}
        dark = [(a - SAMPLE_MS, b + STREAMS_MS) for a, b in [*recording.freezes(name), *recording.dead(name)]]
        for sample, after in zip(samples, [*(x["t_ms"] for x in samples[1:]), recording.end_ms], strict=True):
            if sample.get("state") == "REBALANCING":
                continue
            listed = {(task, role) for thread in sample["threads"] for role in ("active", "standby") for task in thread[role]}
            for at in range(sample["t_ms"], after, SAMPLE_MS):
                if any(a <= at < b for a, b in dark):
                    continue
                for task, role in tasks:
                    score.total += 1
                    verdict = judge_point(at, (task, role) in listed, bounds[name, task, role], STREAMS_MS)
                    score.right += verdict == "right"
                    if verdict != "right":
                        faults[f"{task} ({role}) on {name} {'was' if (task, role) in listed else 'was not'} listed: {verdict}"] += 1
    score.wrong = [f"{what} ({n * SAMPLE_MS / 1000:.1f} s)" for what, n in faults.most_common()]
    return score


def score_failures(recording: Recording, rows: list[Row], clock: Clock) -> Score:
    """Compare `task_failure` with each change of a task to FAILED in the REST API's answers: task, worker, time, innermost exception."""
    score = Score()
    unseen = [r for r in rows if r["resource_kind"] == "task" and clock.true_ms(r["process_id"], r["failed_lo"], 0) < recording.end_ms]
    for task, worker, since, at, trace in recording.failed_tasks:
        score.total += 1
        innermost = RE_CAUSED_BY.findall(trace)[-1]
        mine = [
            r
            for r in unseen
            if (r["resource"], owner_of(r["process_id"], [worker])) == (task, worker)
            and since - STATUS_MS <= clock.true_ms(r["process_id"], r["failed_lo"], 0) <= at
            and str(r["innermost"]).startswith(innermost)
        ]
        if mine:
            score.right += 1
            unseen = [r for r in unseen if r not in mine]
        else:
            score.wrong.append(f"{task} on {worker} had failed with {innermost}: no row of `task_failure` says so")
    return score
