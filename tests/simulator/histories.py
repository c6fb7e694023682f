# SPDX-License-Identifier: Apache-2.0
"""A tiny language: the history of a Connect group in one line.

`3.9 tasks=a:1,b:2 | w1+ w2+ 12s w2~15s 20s w1-` reads: release 3.9, source connector `a` with one task and sink `b` with two; workers w1 and
w2 start, 12 s pass, w2 is frozen for 15 s (while time goes on), 20 s pass, w1 is asked to end.

Before the bar: the release (2.3, 2.6, 3.9), `eager`, `tasks=`, `delay=` (scheduled rebalance delay, seconds), `slow=` (share of stops that outlast
Connect's patience), `fail=` (share of task starts that throw later), `seed=`, `w1@+41` (a clock 41 s ahead).
After the bar, in order: `w1+` start, `w1-` ask to end, `w1x` kill, `w1~15s` freeze, `w1/15s` cut off, `b~3s` freeze the broker, `w1^+30s` its clock
is set 30 s ahead (`^-30s`: back), `12s` wait.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

RE_DEED = re.compile(r"(?P<who>w\d|b)(?P<what>[+\-x~/^])(?:(?P<seconds>[+-]?\d+(?:\.\d+)?)s)?")
RE_WAIT = re.compile(r"(?P<seconds>\d+(?:\.\d+)?)s")
RE_CLOCK = re.compile(r"(?P<who>w\d)@(?P<seconds>[+-]?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Deed:
    """One thing done to a process (`w1`, or `b` for the broker), or a wait when `who` is empty."""

    who: str
    what: str
    seconds: float


@dataclass(frozen=True)
class History:
    """A parsed line; `text` is the line."""

    text: str
    release: str
    eager: bool
    connectors: tuple[tuple[str, int], ...]
    delay_s: float
    slow: float
    failing: float
    seed: int
    clocks: tuple[tuple[str, float], ...]
    deeds: tuple[Deed, ...]


def parse(text: str) -> History:
    """Read one history.

    Raises:
        ValueError: naming the word that is not of the language.
    """
    head, _, tail = text.partition("|")
    found: dict[str, object] = {
        "release": "3.9",
        "eager": False,
        "connectors": (("a", 1), ("b", 2)),
        "delay": 0.0,
        "slow": 0.0,
        "fail": 0.0,
        "seed": 1,
    }
    clocks: list[tuple[str, float]] = []
    for word in head.split():
        key, _, value = word.partition("=")
        clock = RE_CLOCK.fullmatch(word)
        if word in ("2.3", "2.6", "3.9"):
            found["release"] = word
        elif word == "eager":
            found["eager"] = True
        elif clock:
            clocks.append((clock["who"], float(clock["seconds"])))
        elif key == "tasks":
            found["connectors"] = tuple((c.split(":")[0], int(c.split(":")[1])) for c in value.split(","))
        elif key in ("delay", "slow", "fail"):
            found[key] = float(value)
        elif key == "seed":
            found["seed"] = int(value)
        else:
            raise ValueError(f"no word of the language before the bar: {word!r} in {text!r}")
    return History(
        text,
        str(found["release"]),
        bool(found["eager"]),
        found["connectors"],  # type: ignore[arg-type]
        float(found["delay"]),  # type: ignore[arg-type]
        float(found["slow"]),  # type: ignore[arg-type]
        float(found["fail"]),  # type: ignore[arg-type]
        int(found["seed"]),  # type: ignore[call-overload]
        tuple(clocks),
        tuple(_deed(word, text) for word in tail.split()),
    )


def _deed(word: str, text: str) -> Deed:
    wait, deed = RE_WAIT.fullmatch(word), RE_DEED.fullmatch(word)
    if wait:
        return Deed("", "wait", float(wait["seconds"]))
    if deed and bool(deed["seconds"]) == (deed["what"] in "~/^"):
        return Deed(deed["who"], deed["what"], float(deed["seconds"] or 0))
    raise ValueError(f"no word of the language after the bar: {word!r} in {text!r}")


def random_history(seed: int, stepping: bool = False) -> str:
    """A line of the language by chance: a few workers, tasks of both kinds, skewed clocks, and two to five misfortunes.

    With `stepping`, the clocks of some workers are set while the history goes on.
    """
    rng = Random(seed)
    workers = [f"w{i + 1}" for i in range(rng.choice((2, 2, 3, 3, 4)))]
    head = [rng.choice(("2.3", "2.6", "3.9"))]
    head += ["eager"] if rng.random() < 0.25 else []
    head += [f"tasks=a:{rng.randint(1, 2)},b:{rng.randint(1, 3)}", f"delay={rng.choice((0, 0, 3, 6))}"]
    head += [f"slow={rng.choice((0, 0, 0.1, 0.5))}", f"fail={rng.choice((0, 0, 0.1))}", f"seed={seed}"]
    head += [f"{w}@{rng.choice((-23.5, -3600, 0.7, 5, 41, 86400)):+g}" for w in workers if rng.random() < 0.5]
    tail = []
    for worker in workers:
        tail += [f"{worker}+", f"{rng.choice((0.1, 1, 4))}s"]
    up = set(workers)
    for _ in range(rng.randint(2, 5)):
        if stepping and rng.random() < 0.5:
            tail.append(f"{rng.choice(workers)}^{rng.choice((-40, -9, -1, 0.3, 6, 25)):+g}s")
        tail.append(f"{rng.choice((3, 8, 14))}s")
        worker = rng.choice(workers)
        if worker not in up:
            tail.append(f"{worker}+")
            up.add(worker)
            continue
        deed = rng.choice(("~", "~", "~", "/", "/", "x", "-", "b"))
        if deed == "b":
            tail.append(f"b~{rng.choice((1, 4))}s")
        elif deed in "~/":
            tail.append(f"{worker}{deed}{rng.choice((2, 7, 12, 25))}s")
        else:
            tail.append(worker + deed)
            up.discard(worker)
    return f"{' '.join(head)} | {' '.join(tail)} {rng.choice((5, 20, 30))}s"
