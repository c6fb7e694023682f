"""Load views from SQL files, in the order in which they are built.

The header of a view file lists what the view reads (`-- Reads: a, b`). The build order follows from these lines alone. A view is computed by the query
in its file, or by a Python module that the header names (`-- Computed: forensics.causes.effect`); then the file declares the columns with their types.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from typing import TYPE_CHECKING

from pyarrow.types import is_struct

from forensics import schema
from forensics.case.sql_types import arrow_type
from forensics.catalogue import known_bugs
from forensics.errors import ForensicsError
from forensics.resources import RULES, sql_dir

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from forensics.wording.facts import Yields

_HEADER = re.compile(r"^--\s*(Reads|Grain|Kept|Words|Public|Computed):[^\S\n]*+(.*\S)", re.MULTILINE)
_CREATE = re.compile(r"CREATE OR REPLACE TEMPORARY VIEW\s+(\w+)", re.IGNORECASE)
#: The comment of a column or a view. It may span lines, because Spark does not concatenate literals there.
_TEXT = re.compile(r"\bCOMMENT '(?:[^']|'')*'")
#: A type of SQL, with at most three types inside each other.
_TYPE = r"[A-Z]+(?:<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)?"
#: The columns and the comment of a view, up to its query.
_DECLARATION = re.compile(r"(TEMPORARY VIEW \w+)(?:\s*\(\n(.+?)\n\))?(?:\nCOMMENT '((?:[^']|'')*)')?(?=\nAS\s*\n|\s*\Z)", re.DOTALL | re.IGNORECASE)
#: A column: its name, its type if Python computes it, and its meaning.
_COLUMN = re.compile(rf"\b(\w++)(?:\s+(?!COMMENT)({_TYPE}))?(?:\s+COMMENT\s+'((?:[^']|'')*)')?\s*(?:,|$)")
#: The same in the complete text of a view.
_STATED = re.compile(rf"^ {{2}}(\w+)( {_TYPE})? COMMENT '((?:[^']|'')*)'", re.MULTILINE)

#: A quoted string, a comment, or the end of a statement.
_PART = re.compile(r"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|`(?:[^`\\]|\\.)*`?|--[^\n]*|;""", re.DOTALL)


@dataclass(frozen=True)
class View:
    """One view file.

    Attributes:
        name: the view's name, the same as the file's.
        folder: its layer, a folder below `sql/`; it reads only from its own layer and those before it.
        sql: the whole text.
        reads: tables and views that it reads.
        grain: columns that identify a row.
        kept: False for a cheap, wide view that is computed on every read (`-- Kept: no`).
        words: source of the sentences added to its rows when they are built: `by view` (its own word file), `by rule` (the word file of each row's rule), or
            empty (no sentences).
        kind: `public` (`-- Public: yes`: users rely on its name and columns), `rule`, or `step`.
        computed: the Python module that computes its rows; empty if its query does.
    """

    name: str
    folder: str
    sql: str
    reads: tuple[str, ...]
    grain: tuple[str, ...]
    kept: bool
    words: str = ""
    kind: str = "step"
    computed: str = ""

    @property
    def about(self) -> str:
        """Return the first sentence of the header, which describes a row."""
        return _first_sentence(self.sql)

    @property
    def create(self) -> str:
        """Return the CREATE clause, with the columns and their comments, without types."""
        return self._halves[0]

    @property
    def query(self) -> str:
        """Return the query after AS; empty if Python computes the view."""
        return self._halves[1]

    @cached_property
    def columns(self) -> list[str]:
        """Return the columns that it declares."""
        return list(self.comments)

    @cached_property
    def comments(self) -> dict[str, str]:
        """The comment of each column that it declares, as the content of a SQL literal."""
        return {name: comment for name, _, comment in _STATED.findall(self.create)}

    @cached_property
    def types(self) -> dict[str, str]:
        """The type of each column that it declares, in SQL; of a view that Python computes."""
        return {name: kind.strip() for name, kind, _ in _STATED.findall(statements(self.sql)[-1]) if kind}

    @cached_property
    def _halves(self) -> tuple[str, str]:
        statement = statements(self.sql)[-1]
        if self.computed:
            return _STATED.sub(lambda column: f"  {column[1]} COMMENT '{column[3]}'", statement), ""
        create, query = re.split(r"\nAS\s*\n", statement, maxsplit=1)
        return create, query


def thresholds_sql(overrides: Mapping[str, int] | None = None) -> str:
    """Return the text of `knobs.sql`: the thresholds as session variables.

    Args:
        overrides: the user's values, by variable.
    """
    text = (sql_dir() / "knobs.sql").read_text(encoding="utf-8")
    for name, value in (overrides or {}).items():
        text = re.sub(rf"(VARIABLE {name} \w+ DEFAULT )\S+;", rf"\g<1>{value};", text)
    return text


def thresholds(overrides: Mapping[str, int] | None = None) -> dict[str, int | None]:
    """Return the value of each threshold; None: NULL. Takes the same argument as `thresholds_sql`."""
    declared = re.findall(r"VARIABLE (\w+) \w+ DEFAULT (\S+);", thresholds_sql(overrides))
    return {name: None if value == "NULL" else int(value) for name, value in declared}


def threshold_literals(overrides: Mapping[str, int] | None = None) -> dict[str, str]:
    """Return each threshold as an expression of its type. Takes the same argument as `thresholds_sql`."""
    declared = re.findall(r"VARIABLE (\w+) (\w+) DEFAULT (\S+);", thresholds_sql(overrides))
    return {name: f"CAST({value} AS {kind})" for name, kind, value in declared}


def _first_sentence(comment: str) -> str:
    """Return the first lines of a comment, up to the line that ends a sentence."""
    lines = [line.lstrip("- ").strip() for line in comment.splitlines()]
    ends = next((n for n, line in enumerate(lines) if line.endswith((".", "?"))), 0)
    return " ".join(lines[: ends + 1])


def views() -> dict[str, View]:
    """Return all views by name, each after the views that it reads.

    One view has no file: `known_bug` is generated from a pattern file. A view that reads `rules` reads every rule, so that a new rule needs only a new file.

    Raises:
        ForensicsError: a file's name differs from its view's name, or views read each other in a cycle.
    """
    root = sql_dir()
    if (known := _KNOWN.get(str(root))) is None:
        known = _KNOWN[str(root)] = _ordered(root)
    return dict(known)


#: All views by their folder: the files of a running program do not change.
_KNOWN: dict[str, dict[str, View]] = {}


def _ordered(root: Traversable) -> dict[str, View]:
    found = {view.name: view for view in [*_load(root), _parse("known_bug", "1_evidence", known_bugs.view_sql())]}
    rules = [view.name for view in found.values() if view.kind == "rule"]
    found |= {
        view.name: replace(view, reads=tuple(dict.fromkeys(name for read in view.reads for name in (rules if read == _ALL_RULES else [read]))))
        for view in found.values()
        if _ALL_RULES in view.reads
    }
    graph = {name: {read for read in view.reads if read in found} for name, view in found.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as e:
        raise ForensicsError("Views read each other in a cycle.", why=" -> ".join(e.args[1]), where="sql/") from e
    return {name: found[name] for name in order}


#: In a header: all rules.
_ALL_RULES = "rules"

#: Columns of every rule. Sentences are made from the facts when the view `finding` is built.
RULE_COLUMNS = {
    "severity": "critical, warning or note",
    "verdict": "proved or undecided",
    "kafka_cluster": "Kafka cluster id",
    "group_id": "Group",
    "subject": "Task, partition, member, process or topic that it concerns",
    "from_ms": "From, milliseconds since 1970 on the reference clock",
    "to_ms": "To; NULL: open, or a moment",
    "code": "Case of the rule; the word file beside the rule has the sentences of each case",
    "facts": "Named facts: durations end in _ms, times in _at_ms (milliseconds since 1970)",
    "proof": "Events that prove it, each with its role",
}


def rule_id(view_name: str) -> str:
    """Return a rule's ID from its view's name: `zombie-task` for `rule_zombie_task`."""
    return view_name.removeprefix("rule_").replace("_", "-")


def _load(root: Traversable) -> Iterator[View]:
    rooms = sorted(room.name for room in root.iterdir() if room.is_dir())
    for folder in rooms:
        for file in sorted((root / folder).iterdir(), key=lambda f: f.name):
            if file.name.endswith(".sql"):
                yield _parse(file.name.removesuffix(".sql"), folder, file.read_text(encoding="utf-8"))


@lru_cache(maxsize=512)
def _parse(name: str, folder: str, sql: str) -> View:
    header: dict[str, str] = {}
    for key, value in _HEADER.findall(sql):
        # A long list continues on a second line with the same key.
        header[key] = f"{header[key]}, {value}" if key in header else value
    # A rule's ID has dashes, which SQL names cannot have.
    view_name = "rule_" + name.replace("-", "_") if folder == RULES else name
    if folder == RULES:
        sql = _created(view_name, sql)
    sql = _TEXT.sub(lambda text: " ".join(line.strip() for line in text[0].split("\n") if line.strip()), sql)
    created = _CREATE.search(sql)
    if created is None or created.group(1) != view_name:
        raise ForensicsError(
            f"The view file {name}.sql does not create the view {view_name}.",
            why=f"it creates {created.group(1)!r}" if created else "it has no CREATE OR REPLACE TEMPORARY VIEW",
            where=f"sql/{folder}/{name}.sql",
        )
    sql = _commented(sql, f"sql/{folder}/{name}.sql")
    names = {key: tuple(part.strip() for part in value.split(",") if part.strip()) for key, value in header.items()}
    kind = "rule" if folder == RULES else "public" if header.get("Public") == "yes" else "step"
    return View(
        view_name,
        folder,
        sql,
        names.get("Reads", ()),
        names.get("Grain", ()),
        header.get("Kept", "yes") != "no",
        header.get("Words", ""),
        kind,
        header.get("Computed", ""),
    )


@lru_cache(maxsize=1)
def shared_columns() -> dict[str, str]:
    """Return the meanings of columns by name: of those that views share (`columns.toml`), and of those of an event."""
    of_event = {c.name: c.meaning for c in schema.ENVELOPE} | {name: field.meaning for name, field in schema.load_fields().items()}
    return of_event | tomllib.loads((sql_dir() / "columns.toml").read_text(encoding="utf-8"))


def _commented(sql: str, where: str) -> str:
    """Return a view's text with a comment on the view and on each column, one column in each line.

    The comment of a view is the first sentence of its header. A column without a comment has its meaning in `shared_columns`.
    """

    def complete(found: re.Match[str]) -> str:
        create, columns, comment = found.groups()
        text = comment or _literal(_first_sentence(sql))
        if columns is None:
            return f"{create}\nCOMMENT '{text}'"
        lines = []
        for name, kind, meaning in _COLUMN.findall(columns):
            if not meaning and name not in shared_columns():
                raise ForensicsError(f"The column {name} has no COMMENT.", why="neither sql/columns.toml nor parsers/fields.toml has it", where=where)
            typed = f"{name} {' '.join(kind.split())}" if kind else name
            lines.append(f"  {typed} COMMENT '{meaning or _literal(shared_columns()[name])}'")
        return f"{create} (\n" + ",\n".join(lines) + f"\n)\nCOMMENT '{text}'"

    return _DECLARATION.sub(complete, sql, count=1)


def _literal(text: str) -> str:
    return text.replace("'", "''")


def _created(view_name: str, query: str) -> str:
    """Return a rule's query as a view with the columns that all rules share."""
    head = re.match(r"(?:--[^\n]*\n)+", query)
    comment, body = (head[0], query[head.end() :]) if head else ("", query)
    columns = ",\n".join(f"  {name} COMMENT '{_literal(meaning)}'" for name, meaning in RULE_COLUMNS.items())
    return f"{comment}CREATE OR REPLACE TEMPORARY VIEW {view_name} (\n{columns}\n)\nAS\n{body}"


def rule_queries() -> dict[str, str]:
    """Return the queries of the rules, without CREATE, by rule ID."""
    return {rule_id(v.name): v.query for v in views().values() if v.kind == "rule"}


def worded_views() -> dict[str, tuple[str | Yields, list[str]]]:
    """Return what each view whose own word file adds sentences to its rows yields, as its query or, if Python computes it, as names; and its columns."""
    return {v.name: (_computes(v) if v.computed else v.query, v.columns) for v in views().values() if v.words == "by view"}


def _computes(view: View) -> Yields:
    """Return what a module yields. Its constant `CODES` has the codes; a view without it has no codes, or leaves those of its rows as they are."""
    from forensics.wording.facts import Yields

    facts = arrow_type(view.types.get("facts", "STRING"))
    names = frozenset(field.name for field in facts) if is_struct(facts) else frozenset()
    return Yields(tuple(view.columns), names, getattr(import_module(view.computed), "CODES", frozenset()), frozenset())


def statements(sql: str) -> list[str]:
    """Split SQL into statements without comments.

    Strings may contain semicolons and dashes; a comment is `--` up to the end of the line.
    """
    return [text for _, text in placed_statements(_without_comments(sql, ""))]


def placed_statements(sql: str) -> list[tuple[int, str]]:
    """Split SQL into statements, each with its offset; blanks replace comments, so that offsets within a statement are unchanged."""
    bare = _without_comments(sql, " ")
    ends = [m.start() for m in _PART.finditer(bare) if m[0] == ";"]
    found = ((begin, bare[begin:end]) for begin, end in zip([0, *(end + 1 for end in ends)], [*ends, len(bare)], strict=True))
    return [(begin + len(text) - len(text.lstrip()), text.strip()) for begin, text in found if text.strip()]


def _without_comments(sql: str, blank: str) -> str:
    return _PART.sub(lambda m: blank * len(m[0]) if m[0].startswith("--") else m[0], sql)
