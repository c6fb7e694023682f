"""SQL files to views: their order, their build into a case, and the text of `open.sql`.

A view file says what it needs in its header (`-- Reads: a, b`); the order of building follows from these lines and is stated
nowhere else. Views are built once a case and kept as Parquet, so that a reader never waits for the steps below the view.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from forensics.catalogue import known_bugs
from forensics.engines.paths import quoted
from forensics.errors import CaseError, ForensicsError
from forensics.failures import ENGINE_FAILED, explained
from forensics.resources import sql_dir
from forensics.schema import table_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from forensics.engines.base import Engine

_HEADER = re.compile(r"^--\s*(Reads|Grain|Kept|Told):\s*(.+?)\s*$", re.MULTILINE)
_CREATE = re.compile(r"CREATE OR REPLACE TEMPORARY VIEW\s+(\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class View:
    """One view file.

    Attributes:
        name: the view's name, equal to the file's.
        folder: its room below `sql/`; empty for a public view.
        sql: the whole text.
        reads: tables and views that it reads.
        grain: columns that tell its rows apart.
        kept: False for a view that is cheap and wide, so that it is computed when read (`-- Kept: no`).
        facts: whether it is a rule that yields facts, which the words beside it tell.
        told: whose words add sentences to its rows when they are kept: `by view` (its own word file), `by rule` (that of each row's rule); empty: none.
    """

    name: str
    folder: str
    sql: str
    reads: tuple[str, ...]
    grain: tuple[str, ...]
    kept: bool
    facts: bool = False
    told: str = ""

    @property
    def about(self) -> str:
        """The first sentence of the header: what a row is."""
        return self.sql.splitlines()[0].lstrip("- ").strip()


def knobs(told: Mapping[str, int] | None = None) -> str:
    """The text of `knobs.sql`: the thresholds as session variables.

    Args:
        told: values of the user's own, by variable.
    """
    text = (sql_dir() / "knobs.sql").read_text(encoding="utf-8")
    for name, value in (told or {}).items():
        text = re.sub(rf"(VARIABLE {name} \w+ DEFAULT )\S+;", rf"\g<1>{value};", text)
    return text


def views() -> dict[str, View]:
    """All views by name, in an order in which each comes after what it reads.

    Two views have no file: `rule_finding` is all rows of all rules, `known_bug` those of a pattern file.

    Raises:
        ForensicsError: a file's name is not its view's name, or views read each other in a circle.
    """
    found = {view.name: view for view in [*_load(), _parse("known_bug", "processes", known_bugs.view_sql())]}
    gathered = _gather([view for view in found.values() if view.folder == "rules"])
    found[gathered.name] = gathered
    graph = {name: {read for read in view.reads if read in found} for name, view in found.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as e:
        raise ForensicsError("Views read each other in a circle.", why=" -> ".join(e.args[1]), where="sql/") from e
    return {name: found[name] for name in order}


def _gather(rules: Sequence[View]) -> View:
    """The rows of all rules, each with its rule's id, so that a new rule is one new file and nothing else."""
    parts = [(_GATHER_FACTS if rule.facts else _GATHER_SENTENCES).format(id=rule_id(rule.name), view=rule.name) for rule in rules]
    body = "\nUNION ALL\n".join(parts)
    sql = f"-- One row per finding of any rule.\nCREATE OR REPLACE TEMPORARY VIEW rule_finding\nAS\n{body}"
    return View("rule_finding", "findings", sql, tuple(rule.name for rule in rules), (), kept=False)


#: What every rule yields: facts. Sentences are made of them when the view `finding` is built.
RULE_COLUMNS = {
    "severity": "critical, warning or note",
    "verdict": "proved or undecided",
    "kafka_cluster": "Kafka cluster id",
    "group_id": "Group",
    "subject": "What it is about: a task, partition, member, process or topic",
    "from_ms": "From, milliseconds since 1970 on the reference clock",
    "to_ms": "To; NULL: open, or a moment",
    "code": "Which of the rule's cases it is; the words beside the rule tell each",
    "facts": "Named facts: spans end in _ms, moments in _at_ms (milliseconds since 1970)",
    "proof": "Events that prove it, each with its role",
}
_GATHER_FACTS = """SELECT '{id}' AS rule, severity, verdict, kafka_cluster, group_id, subject, timestamp_millis(from_ms) AS from_ts, timestamp_millis(to_ms) AS to_ts,
  CAST(NULL AS STRING) AS headline, CAST(NULL AS STRING) AS explanation, CAST(NULL AS STRING) AS advice, code, to_json(facts) AS facts,
  transform(filter(proof, p -> p.event_id IS NOT NULL), p -> p.event_id) AS witness, transform(filter(proof, p -> p.event_id IS NOT NULL), p -> p.role) AS witness_role
FROM {view}"""
_GATHER_SENTENCES = """SELECT '{id}' AS rule, severity, verdict, kafka_cluster, group_id, subject, from_ts, to_ts,
  headline, explanation, advice, CAST(NULL AS STRING) AS code, CAST(NULL AS STRING) AS facts,
  witness, transform(witness, p -> CAST(NULL AS STRING)) AS witness_role
FROM {view}"""


def rule_id(view_name: str) -> str:
    """A rule's id as users write it, from its view's name: `rule_zombie_task` is `zombie-task`."""
    return view_name.removeprefix("rule_").replace("_", "-")


def _load() -> Iterator[View]:
    root = sql_dir()
    rooms = sorted(room.name for room in root.iterdir() if room.is_dir())
    for folder in ("", *rooms):
        place: Traversable = root / folder if folder else root
        for file in sorted(place.iterdir(), key=lambda f: f.name):
            if file.name.endswith(".sql") and file.name != "knobs.sql":
                yield _parse(file.name.removesuffix(".sql"), folder, file.read_text(encoding="utf-8"))


def _parse(name: str, folder: str, sql: str) -> View:
    header: dict[str, str] = {}
    for key, value in _HEADER.findall(sql):
        # A long list goes on in a second line of its name.
        header[key] = f"{header[key]}, {value}" if key in header else value
    # A rule's id has dashes, which no SQL name may have.
    view_name = "rule_" + name.replace("-", "_") if folder == "rules" else name
    facts = folder == "rules" and _CREATE.search(sql) is None
    if facts:
        sql = _created(view_name, sql)
    created = _CREATE.search(sql)
    if created is None or created.group(1) != view_name:
        raise ForensicsError(
            f"The view file {name}.sql does not create the view {view_name}.",
            why=f"it creates {created.group(1)!r}" if created else "it has no CREATE OR REPLACE TEMPORARY VIEW",
            where=f"sql/{folder}/{name}.sql" if folder else f"sql/{name}.sql",
        )
    names = {key: tuple(part.strip() for part in value.split(",") if part.strip()) for key, value in header.items()}
    return View(
        view_name, folder, sql, names.get("Reads", ()), names.get("Grain", ()), header.get("Kept", "yes") != "no", facts, header.get("Told", "")
    )


def _created(view_name: str, query: str) -> str:
    """A rule's query as a view: all rules have the same columns, which are stated once."""
    head = re.match(r"(?:--[^\n]*\n)+", query)
    comment, body = (head[0], query[head.end() :]) if head else ("", query)
    about = comment.splitlines()[0].lstrip("- ").strip().replace("'", "''") if comment else ""
    columns = ",\n".join(f"  {name} COMMENT '{meaning.replace(chr(39), chr(39) * 2)}'" for name, meaning in RULE_COLUMNS.items())
    return f"{comment}CREATE OR REPLACE TEMPORARY VIEW {view_name} (\n{columns}\n)\nCOMMENT '{about}'\nAS\n{body}"


def rule_queries() -> dict[str, str]:
    """The queries of the rules that yield facts, without CREATE, by the rule's id."""
    return {rule_id(v.name): _halves(v)[1] for v in views().values() if v.facts}


def told_queries() -> dict[str, tuple[str, list[str]]]:
    """The queries of the views that their own words tell, and the columns that they declare, by the view."""
    halves = {v.name: _halves(v) for v in views().values() if v.told == "by view"}
    return {name: (body, _columns(head)) for name, (head, body) in halves.items()}


def statements(sql: str) -> list[str]:
    """A SQL text's statements, without comments' semicolons in the way.

    Strings may hold semicolons and dashes; comments are `--` to the end of the line.
    """
    out, current, quote, i = [], [], "", 0
    while i < len(sql):
        c = sql[i]
        if quote:
            current.append(c)
            if c == "\\" and i + 1 < len(sql):
                current.append(sql[i + 1])
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"`":
            quote = c
            current.append(c)
        elif sql.startswith("--", i):
            end = sql.find("\n", i)
            i = len(sql) if end < 0 else end
            current.append("\n")
        elif c == ";":
            out.append("".join(current).strip())
            current = []
        else:
            current.append(c)
        i += 1
    out.append("".join(current).strip())
    return [s for s in out if s]


def opening(tables: Mapping[str, Sequence[str]], built: Mapping[str, str], told: Mapping[str, int] | None = None) -> list[str]:
    """The statements of `open.sql`: knobs, tables, then every view over the rows that were kept of it, in order.

    Views as text alone would be planned anew inside each other at every reading, which takes minutes; so there are none before the first build.
    """
    out = statements(knobs(told))
    for name, paths in tables.items():
        out.append(_table(name, paths))
    for name, view in views().items():
        if name in built:
            out.append(_create_over(view, built[name]))
        elif built and not view.kept:
            out.extend(statements(view.sql))
    return out


def _table(name: str, paths: Sequence[str]) -> str:
    """A table as a view over its Parquet, each column with its meaning."""
    meanings = {column.name: column.meaning for column in table_columns(name)}
    found: dict[str, None] = {}
    for path in paths:
        found |= dict.fromkeys(pyarrow.dataset.dataset(path, format="parquet").schema.names)
    missing = _missing(name, found)
    names = [*found, *(m.rpartition("`")[0].rpartition("`")[2] for m in missing)]
    columns = ", ".join(f"`{c}` COMMENT '{meanings.get(c, '').replace(chr(39), chr(39) * 2)}'" for c in names)
    union = " UNION ALL BY NAME ".join(f"SELECT * FROM parquet.`{quoted(path)}`" for path in paths)
    selected = ", ".join([*(f"`{c}`" for c in found), *missing])
    return f"CREATE OR REPLACE TEMPORARY VIEW {name} ({columns}) AS SELECT {selected} FROM ({union})"


def _missing(table: str, present: Iterable[str]) -> list[str]:
    """Expressions for the columns that a table lacks because an earlier version wrote it: they are NULL."""
    from pyspark.sql.pandas.types import from_arrow_type

    known = set(present)
    absent = [c for c in table_columns(table) if c.name not in known]
    return [f"CAST(NULL AS {from_arrow_type(c.type).simpleString()}) AS `{c.name}`" for c in absent]


def _halves(view: View) -> tuple[str, str]:
    """A view file's CREATE ... clause with its columns and comments, and the query after AS."""
    head, body = re.split(r"\nAS\s*\n", statements(view.sql)[-1], maxsplit=1)
    return head, body


def _columns(head: str) -> list[str]:
    return re.findall(r"^\s{2}(\w+)\s+COMMENT", head, re.MULTILINE)


def _create_over(view: View, path: str) -> str:
    """The view's own CREATE statement, with its columns' comments, over the Parquet rows that it had.

    Rows that another version kept may have other columns: then they come as they are.
    """
    head, _ = _halves(view)
    found = pyarrow.dataset.dataset(path, format="parquet").schema.names
    if sorted(found) != sorted(_columns(head)):
        return f"CREATE OR REPLACE TEMPORARY VIEW {view.name}\nAS\nSELECT * FROM parquet.`{quoted(path)}`"
    columns = ", ".join(f"`{c}`" for c in columns_over(view, found))
    return f"{head}\nAS\nSELECT {columns} FROM parquet.`{quoted(path)}`"


def columns_over(view: View, found: Sequence[str]) -> Sequence[str]:
    """The columns of the rows that were kept of a view, in the view's order; rows that another version kept have their own."""
    declared = _columns(_halves(view)[0])
    return declared if sorted(found) == sorted(declared) else found


def build(
    engine: Engine,
    tables: Mapping[str, Sequence[str]],
    target: Path,
    progress: Callable[[str, int, int], None] | None = None,
    *,
    small: bool = False,
    told: Mapping[str, int] | None = None,
) -> dict[str, str]:
    """Compute every kept view once, in order, into Parquet.

    Args:
        engine: computes them.
        tables: table name to Parquet paths.
        target: a folder that does not exist; `target/<view>` is made for each.
        progress: called with the view's name, its number and how many there are.
        small: whether the case is so small that planning and compiling a query costs more than running it.
        told: thresholds of the user's own.

    Returns:
        View name to the path of its rows.

    Raises:
        CaseError: a view could not be computed; says which and why.
    """
    for statement in statements(knobs(told)):
        engine.sql(statement)
    for name, paths in tables.items():
        found = {column for path in paths for column in pyarrow.dataset.dataset(path, format="parquet").schema.names}
        engine.table(name, paths, _missing(name, found))
    with engine.tuned(small=small):
        return _build_all(engine, target, progress or (lambda view, number, of: None), small=small)


def _build_all(engine: Engine, target: Path, progress: Callable[[str, int, int], None], *, small: bool) -> dict[str, str]:
    target.mkdir(parents=True, exist_ok=True)
    everything = views()
    order = TopologicalSorter({name: [r for r in view.reads if r in everything] for name, view in everything.items()})
    order.prepare()
    built: dict[str, str] = {}
    # A view of a small case costs mostly planning, which Spark does on one core a query: two at a time use both.
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        running: dict[Future[None], str] = {}
        number = 0
        while order.is_active():
            for name in order.get_ready():
                running[pool.submit(_compute, engine, everything[name], target / name, small=small)] = name
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                name, number = running.pop(future), number + 1
                future.result()
                if everything[name].kept:
                    built[name] = str(target / name)
                progress(name, number, len(everything))
                order.done(name)
    return built


_AT_ONCE = 3


def _compute(engine: Engine, view: View, path: Path, *, small: bool) -> None:
    """Compute one view, once, and let later views read what was kept of it."""
    try:
        if not view.kept:
            for statement in statements(view.sql):
                engine.sql(statement)
            return
        head, body = _halves(view)
        rows = _named(engine.sql(body), _columns(head))
        if view.told:
            # They are few, and most of them are the report's: they are told in this process.
            engine.keep_table(view.name, told_table(view, rows.toArrow(), path.parent), rows.schema, path)
        else:
            engine.keep(view.name, rows, path, small=small)
    except Exception as e:  # engines' errors have no common base that pyspark promises
        known = explained(e)
        if known.what != ENGINE_FAILED:
            raise known from e
        why = known.why
        raise CaseError(f"The view {view.name} could not be computed.", why=why, where=f"sql/{view.folder}/{view.name}.sql") from e


def told_table(view: View, table: pa.Table, target: Path) -> pa.Table:
    """The rows of a view with their sentences.

    Args:
        view: one that is told.
        table: its rows; columns of text that words fill may be NULL in it.
        target: the folder of the views that were kept so far.
    """
    from forensics.wording import tell
    from forensics.wording.files import view_words

    if view.told == "by rule":
        told = tell.findings(table.to_pylist(), rule_facts(lambda name: target / name))
        columns: Iterable[str] = tell.TEXTS
    else:
        told = tell.of_view(view.name, table.to_pylist())
        columns = view_words()[view.name].columns
    for column in columns:
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pa.array([row[column] for row in told], table.schema.field(at).type))
    return table


def rule_facts(folder: Callable[[str], Path | None]) -> dict[str, list[str]]:
    """The names of each rule's facts, by the rule's id, as its rows have them.

    Args:
        folder: gives the folder of a view's rows.
    """
    found = {}
    for view in views().values():
        path = folder(view.name) if view.facts else None
        if path is not None and path.is_dir():
            facts = pyarrow.dataset.dataset(str(path), format="parquet").schema.field("facts").type
            found[rule_id(view.name)] = [facts.field(i).name for i in range(facts.num_fields)]
    return found


def _named(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The rows with the declared columns, in their order: by name where all are named, else by place."""
    return rows.select(*columns) if sorted(rows.columns) == sorted(columns) else rows.toDF(*columns)
