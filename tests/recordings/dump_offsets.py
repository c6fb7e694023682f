# SPDX-License-Identifier: Apache-2.0
"""Generations as the coordinator itself stored them: `kafka-dump-log --offsets-decoder` output of several releases.

The decoder's words changed with the releases; all of them are read here:
key `{"metadata":"g"}` (before 2.5), key `group_metadata::group=g` (2.5 to 3.8), JSON records with a type (3.9 and later: 2 is
a classic group's metadata, 3 and 5 are the epoch and the members of a KIP-848 group).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RE_RECORD = re.compile(r"^(?P<mark>\||baseOffset:|offset:)?.*?\bkey: (?P<key>.*?) payload: (?P<payload>.*)$")
RE_OLD_KEY = re.compile(r'^(?:\{"metadata":"(?P<json>[^"]*)"\}|group_metadata::group=(?P<text>.*))$')
RE_OLD_MEMBER = re.compile(r"(?:^|,\s*)(?P<member>[^,=\[\]]+)=(?P<value>\[[^\]]*\]|[0-9A-Fa-f]*)")


@dataclass(frozen=True)
class StoredGeneration:
    """One generation with members, as stored; `leader` is None if the format does not contain it (KIP-848 has none)."""

    group: str
    generation: int
    leader: str | None
    members: frozenset[str]


def _old_leader(assignment: dict[str, str]) -> str | None:
    """Return the leader from the bytes of Connect's assignments (printed as hex): every member's assignment names it."""
    for member in assignment:
        if any(member.encode().hex() in value.lower() for value in assignment.values()):
            return member
    return None


def _old(group: str, payload: str) -> StoredGeneration | None:
    data = json.loads(payload)
    inner = data["assignment"].removeprefix("{").removesuffix("}")
    assignment = {m["member"].strip(): m["value"] for m in RE_OLD_MEMBER.finditer(inner)}
    if not assignment:
        return None
    leader = _old_leader(assignment) if data["protocolType"] == "connect" else None
    return StoredGeneration(group, int(data["generationId"]), leader, frozenset(assignment))


def _records(text: str) -> Iterator[tuple[int, str, str]]:
    """(number of the batch, key, payload) of each decoded record."""
    batch = 0
    for line in text.splitlines():
        if line.startswith("baseOffset:"):
            batch += 1
        found = RE_RECORD.match(line)
        if found:
            yield batch, found["key"], found["payload"]


def read_dump(text: str) -> list[StoredGeneration]:
    """Return all generations with members in one dump, in order, each stored state of a generation once.

    Args:
        text: what `kafka-dump-log --offsets-decoder` printed; anything else in it is passed over.
    """
    found: list[StoredGeneration] = []
    members: dict[str, set[str]] = {}
    pending: dict[str, int] = {}
    last_batch = 0

    def settle() -> None:
        # The coordinator writes an epoch and the members that caused it in one batch, in an order that differs by cause.
        for group, epoch in pending.items():
            if members.get(group):
                found.append(StoredGeneration(group, epoch, None, frozenset(members[group])))
        pending.clear()

    for batch, key, payload in _records(text):
        if batch != last_batch:
            settle()
            last_batch = batch
        old = RE_OLD_KEY.match(key)
        if old:
            stored = _old(old["json"] or old["text"], payload) if payload.startswith("{") else None
            if stored:
                found.append(stored)
        elif key.startswith('{"type"'):
            parsed = json.loads(key)
            kind, ident = parsed["type"], parsed["data"]
            data = json.loads(payload)["data"] if payload.startswith("{") else None
            if kind == "2" and data is not None and data["members"]:
                ids = frozenset(m["memberId"] for m in data["members"])
                found.append(StoredGeneration(ident["group"], int(data["generation"]), data["leader"], ids))
            elif kind == "3" and data is not None:
                pending[ident["groupId"]] = int(data["epoch"])
            elif kind == "5":
                own = members.setdefault(ident["groupId"], set())
                own.discard(ident["memberId"]) if data is None else own.add(ident["memberId"])
    settle()
    return list(dict.fromkeys(found))


def stored_generations(witness: Path) -> list[StoredGeneration]:
    """The generations of every dump in a recording's `witness/`; empty when none was taken or none could be read."""
    found: list[StoredGeneration] = []
    for file in sorted(witness.glob("dump-offsets-*.txt")) if witness.is_dir() else []:
        found += read_dump(file.read_text(encoding="utf-8", errors="replace"))
    return list(dict.fromkeys(found))
