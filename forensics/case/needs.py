"""Look up which views, and which SELECTs of a UNION ALL, cannot have rows in a case, so that no engine plans them.

The condition of each is derived from its SQL when the package is built (`scripts/make_needs.py`). It is a tree of ANDs and ORs whose leaves are facts
about the rows that a build has so far: a relation has rows, a column has one of these values. It says only what is certain: what has a condition that holds may
still have no rows, and a query that was changed since has no condition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import types

from forensics.case.query_parts import Kept, without
from forensics.case.sql_types import arrow_type
from forensics.resources import sql_dir

#: True, False, or a list: `and` and `or` of conditions; `rows` of a relation; `filled`, `has`, `like` of a relation, a column and what it must have.
Condition = Any
#: File of the conditions, in `sql/`.
STORED = "needs.json"


def key(query: str) -> str:
    """Return the key of a query in the stored file."""
    return blake2b(query.encode(), digest_size=8).hexdigest()


@cache
def _stored() -> Mapping[str, Any]:
    file = sql_dir() / STORED
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


class Needs:
    """What is known of the rows that a build has so far.

    Args:
        dataset: returns the rows of a table, or of a view built so far.
    """

    def __init__(self, dataset: Callable[[str], Sequence[ds.Dataset]]) -> None:
        self._dataset = dataset
        self._values: dict[tuple[str, str], frozenset[Any] | None] = {}
        self._counted: dict[str, bool] = {}
        self._lock = Lock()

    def empty(self, query: str) -> pa.Table | None:
        """Return a table without rows, with the types of the query's columns, if the query certainly has no rows; otherwise None."""
        found = _stored().get(key(query))
        if found is None or self.hold(found.get("needs", True)):
            return None
        return pa.schema([(name, arrow_type(kind)) for name, kind in found["types"].items()]).empty_table()

    def live(self, query: str) -> str:
        """Return the query without what certainly has no rows in it: SELECTs of a UNION ALL, and what only they read."""
        unions = []
        for union in _stored().get(key(query), {}).get("unions", ()):
            stay = [self.hold(wanted) for _, _, wanted, _ in union["selects"]]
            # The types of the whole are those of the first, and of most others.
            stay[0] |= not any(stays and has_types for stays, (*_, has_types) in zip(stay, union["selects"], strict=True))
            if not all(stay):
                unions.append(Kept(union["names"], [(start, end, stays) for (start, end, *_), stays in zip(union["selects"], stay, strict=True)]))
        return without(query, unions) if unions else query

    def has_rows(self, name: str) -> bool:
        """Return False if a relation has no rows."""
        with self._lock:
            if name not in self._counted:
                self._counted[name] = any(part.count_rows() for part in self._dataset(name))
            return self._counted[name]

    def hold(self, wanted: Condition) -> bool:
        """Return False if a condition certainly does not hold."""
        match wanted:
            case bool():
                return wanted
            case ["and", *parts]:
                return all(map(self.hold, parts))
            case ["or", *parts]:
                return any(map(self.hold, parts))
            case ["rows", name]:
                return self.has_rows(name)
        kind, name, column, *value = wanted
        there = self._of(name, column) if self.has_rows(name) else frozenset()
        if there is None:
            return True
        if kind == "filled":
            return bool(there)
        if kind == "like":
            return any(re.fullmatch(value[0], text, re.DOTALL) for text in there if isinstance(text, str))
        # Values of another type are cast before they are compared.
        return value[0] in there or any(type(other) is not type(value[0]) for other in there)

    def _of(self, name: str, column: str) -> frozenset[Any] | None:
        """Return the values of a column except NULL; None: not known."""
        with self._lock:
            if (name, column) not in self._values:
                self._values[name, column] = _distinct(self._dataset(name), column)
            return self._values[name, column]


#: A column with more distinct values than this is not looked through.
_MOST = 1_000


def _distinct(parts: Sequence[ds.Dataset], column: str) -> frozenset[Any] | None:
    found: set[Any] = set()
    for part in parts:
        names = {name.lower(): name for name in part.schema.names}
        if column not in names:
            return None
        kind = part.schema.field(names[column]).type
        if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_boolean(kind)):
            return None
        for batch in part.to_batches(columns=[names[column]]):
            found.update(pc.unique(batch.column(0)).to_pylist())
            if len(found) > _MOST:
                return None
    return frozenset(found - {None})
