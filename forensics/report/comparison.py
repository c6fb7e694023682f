"""Compare the rows of two cases' views: what a new version, other thresholds or more evidence changed. No engine is needed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import types

from forensics.case import view_files
from forensics.case.integrity import rows_in
from forensics.errors import CaseError, UsageError, did_you_mean
from forensics.report import stored
from forensics.report.document import Block, Column, Document, Para, Table
from forensics.wording.files import view_words
from forensics.wording.formats import count
from forensics.wording.sentences import TEXTS

if TYPE_CHECKING:
    from forensics.case.folder import Case

#: Tables whose rows are records.
OF_RECORDS = ("event_row", "counted_row", "unrecognised_row")
_BATCH = 10_000


@dataclass(frozen=True)
class Difference:
    """One view of two cases, A and B.

    Attributes:
        view: its name.
        rows: number of rows of each; None: the case does not keep the view.
        only: number of rows that only the one and only the other has.
        samples: the first of these rows, as JSON without NULL values.
        columns: the columns that only the one and only the other has; rows are compared without them.
    """

    view: str
    rows: tuple[int | None, int | None]
    only: tuple[int, int] = (0, 0)
    samples: tuple[Sequence[str], Sequence[str]] = ((), ())
    columns: tuple[Sequence[str], Sequence[str]] = field(default=((), ()))

    @property
    def same(self) -> bool:
        """Return True if both have the same columns and the same rows."""
        return None not in self.rows and not any(self.only) and not any(self.columns)


def compare(a: Case, b: Case, views: Collection[str] = (), *, facts: bool = False, samples: int = 3) -> Iterator[Difference]:
    """Compare the rows of views that two cases keep, in any order.

    Args:
        a: one case.
        b: the other one.
        views: names; empty: all views that one of the cases keeps.
        facts: leave out the columns that contain sentences.
        samples: maximum number of rows to return of those that only one has.

    Raises:
        UsageError: no view has such a name, or its rows are not kept.
        CaseError: no view of a case was built.
    """
    for case in (a, b):
        if not case.views():
            raise CaseError("The case has no views.", where=str(case.root), fix="`forensics report` builds them.")
    kept = {name: view for name, view in view_files.views().items() if view.kept}
    for name in views:
        if name not in kept:
            known = did_you_mean(name, kept, "`forensics sql --list` lists the views.")
            raise UsageError("The view cannot be compared.", why=f"no case keeps rows of `{name}`", where="--view", fix=known)
    for name in views or sorted(kept):
        sides = stored.of_known_view(a, kept[name]), stored.of_known_view(b, kept[name])
        if any(sides) or views:
            yield _compared(name, sides, _sentences(name) if facts else frozenset(), samples)


def events(a: Case, b: Case, samples: int = 3) -> Iterator[Difference]:
    """Compare the rows of two cases' tables that are made of records: events, counted lines and unrecognised records.

    Args:
        a: one case.
        b: the other one.
        samples: maximum number of rows to return of those that only one has.
    """
    for name in OF_RECORDS:
        parts = [[rows_in(path) for path in case.table_paths(name)] for case in (a, b)]
        # Segments have columns for the captures that their version knew.
        schema = pa.unify_schemas([part.schema for side in parts for part in side], promote_options="permissive")
        yield _compared(name, (_TableRows(parts[0], schema), _TableRows(parts[1], schema)), frozenset(), samples)


@dataclass(frozen=True)
class _TableRows:
    parts: Sequence[ds.Dataset]
    schema: pa.Schema

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def batches(self) -> Iterator[pa.RecordBatch]:
        for part in self.parts:
            yield from part.replace_schema(self.schema).to_batches(batch_size=_BATCH)


def _sentences(view: str) -> frozenset[str]:
    words = view_words()
    return frozenset(TEXTS) | (words[view].columns if view in words else frozenset())


def _compared(view: str, sides: tuple[Any, Any], without: frozenset[str], samples: int) -> Difference:
    a, b = sides
    if a is None or b is None:
        return Difference(view, (_length(a), _length(b)))
    only = [name for name in a.names if name not in b.names], [name for name in b.names if name not in a.names]
    columns = [name for name in a.names if name in b.names and name not in without]
    # Only the hash of a row is kept, so that views of millions of rows fit in memory.
    counts = [Counter(_digest(row) for row in _rows(side, columns)) for side in sides]
    left = counts[0] - counts[1], counts[1] - counts[0]
    return Difference(
        view,
        (counts[0].total(), counts[1].total()),
        (left[0].total(), left[1].total()),
        (_samples(a, columns, left[0], samples), _samples(b, columns, left[1], samples)),
        only,
    )


def _length(rows: Any) -> int | None:  # noqa: ANN401 (ArrowRows, or None)
    return None if rows is None else sum(batch.num_rows for batch in rows.batches())


def _rows(side: Any, columns: Sequence[str]) -> Iterator[str]:  # noqa: ANN401
    """Yield rows as text that is the same for the same values: a map has no order, a list has one."""
    for batch in side.batches():
        part = batch.select(columns)
        maps = [f.name for f in part.schema if types.is_map(f.type)]
        for row in part.to_pylist():
            row.update({name: dict(row[name]) for name in maps if row[name] is not None})
            yield json.dumps(row, default=str, sort_keys=True, ensure_ascii=False)


def _digest(row: str) -> bytes:
    return blake2b(row.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _samples(side: Any, columns: Sequence[str], left: Counter[bytes], most: int) -> list[str]:  # noqa: ANN401
    found: list[str] = []
    wanted = Counter(left)
    for row in _rows(side, columns) if wanted and most else ():
        digest = _digest(row)
        if wanted[digest] > 0:
            wanted[digest] -= 1
            found.append(json.dumps({k: v for k, v in json.loads(row).items() if v is not None}, ensure_ascii=False))
            if len(found) == most:
                break
    return found


def compose(a: Case, b: Case, found: Sequence[Difference]) -> Document:
    """Return the differences as blocks."""
    out = Document()
    out.add(Para(f"{a.root}", label="A"))
    out.add(Para(f"{b.root}", label="B"))
    differ = [d for d in found if not d.same]
    total = count(len(found), "view")
    if not differ:
        out.section("The cases have the same rows", [Para(f"{total} compared, {count(sum(d.rows[0] or 0 for d in found), 'row')}.")], "good")
        return out
    out.section(f"{len(differ)} of {total} {'differs' if len(differ) == 1 else 'differ'}", [table(differ, ("A", "B"))], "bad")
    for difference in differ:
        if blocks := _examples(difference, ("A", "B")):
            out.section(difference.view, blocks)
    return out


def table(differ: Sequence[Difference], sides: tuple[str, str]) -> Table:
    """Return the number of rows of each view, and of those that only one side has.

    Args:
        differ: the views.
        sides: what the two cases are called.
    """
    heads = (f"rows of {sides[0]}", f"rows of {sides[1]}", f"only in {sides[0]}", f"only in {sides[1]}")
    columns = (Column("view", fixed=True), *(Column(name, right=True) for name in heads))
    return Table(columns, tuple((d.view, *map(_number, d.rows), *map(_number, d.only)) for d in differ))


def _examples(difference: Difference, sides: tuple[str, str]) -> list[Block]:
    blocks: list[Block] = [
        Para(", ".join(names), label=f"Columns that only {side} has") for side, names in zip(sides, difference.columns, strict=True) if names
    ]
    for side, rows, all_ in zip(sides, difference.samples, difference.only, strict=True):
        blocks += [Para(row, label=f"Only in {side}") for row in rows]
        if rows and all_ > len(rows):
            blocks.append(Para(f"… and {all_ - len(rows):,} more only in {side}."))
    return blocks


def _number(rows: int | None) -> str:
    return "not built" if rows is None else f"{rows:,}"
