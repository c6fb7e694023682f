"""Compare the rows of two cases' views: what a new version, other thresholds or more evidence changed. No engine is needed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pyarrow import types

from forensics.case import view_files
from forensics.errors import CaseError, UsageError, did_you_mean
from forensics.report import stored
from forensics.report.document import Block, Column, Document, Para, Table
from forensics.wording.files import view_words
from forensics.wording.formats import count
from forensics.wording.sentences import TEXTS

if TYPE_CHECKING:
    from forensics.case.folder import Case


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
    heads = (Column("view", fixed=True), *(Column(name, right=True) for name in ("rows of A", "rows of B", "only in A", "only in B")))
    table = Table(heads, tuple((d.view, *map(_number, d.rows), *map(_number, d.only)) for d in differ))
    out.section(f"{len(differ)} of {total} {'differs' if len(differ) == 1 else 'differ'}", [table], "bad")
    for difference in differ:
        blocks: list[Block] = [
            Para(", ".join(names), label=f"Columns that only {case} has") for case, names in zip("AB", difference.columns, strict=True) if names
        ]
        for case, rows, all_ in zip("AB", difference.samples, difference.only, strict=True):
            blocks += [Para(row, label=f"Only in {case}") for row in rows]
            if rows and all_ > len(rows):
                blocks.append(Para(f"… and {all_ - len(rows):,} more only in {case}."))
        if blocks:
            out.section(difference.view, blocks)
    return out


def _number(rows: int | None) -> str:
    return "not built" if rows is None else f"{rows:,}"
