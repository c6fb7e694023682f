"""Check the SQL of rules and views against their words: every name is a fact, every fact is used, every code has words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import jinja2
import sqlglot
from jinja2 import meta

from forensics.errors import ForensicsError
from forensics.resources import RULES
from forensics.wording.facts import Yields, yields
from forensics.wording.files import Case, ViewWords, Words, rule_words, view_words, word_file
from forensics.wording.language import environment
from forensics.wording.sentences import COLUMNS

#: Facts that join findings to their causes; words need not use them.
KEYS = frozenset({
    "process_id", "instance", "member_id", "client", "incarnation", "generation", "resource", "task", "connector", "broker_id", "broker_process_id",
    "ownership_a", "ownership_b",
})  # fmt: skip
_KNOWN = frozenset({*COLUMNS, "from_at_ms", "to_at_ms", "zone", "with_dates"})


def check_rules(queries: Mapping[str, str], columns: frozenset[str]) -> Iterator[ForensicsError]:
    """Yield the errors of rules and their words.

    Args:
        queries: the query of each rule that yields facts, by the rule's ID.
        columns: the columns that each query must yield, in any order.
    """
    try:
        words = rule_words()
        yield from _unused([*words.values(), *view_words().values()])
    except ForensicsError as e:
        yield e
        return
    for rule in sorted(queries.keys() | words.keys()):
        if rule not in queries or rule not in words:
            lacks, has = ("sql", "toml") if rule not in queries else ("toml", "sql")
            yield ForensicsError(
                f"The rule {rule} has no {lacks} file.",
                why="a rule consists of its facts and its words, side by side",
                where=f"sql/{RULES}/{rule}.{has}",
            )
            continue
        try:
            found = yields(queries[rule])
        except sqlglot.errors.ParseError as e:
            yield ForensicsError(f"The rule {rule} cannot be parsed.", why=str(e).split("\n", 1)[0], where=f"sql/{RULES}/{rule}.sql")
            continue
        yield from _check(rule, found, words[rule].codes, columns)


def check_views(views: Mapping[str, tuple[str | Yields, Sequence[str]]]) -> Iterator[ForensicsError]:
    """Yield the errors of views that have words of their own.

    Args:
        views: the query of each of these views, or what it yields if no query computes it; and its declared columns.
    """
    try:
        words = view_words()
    except ForensicsError as e:
        yield e
        return
    for view in sorted(views.keys() ^ words.keys()):
        what = "has `-- Words: by view`, but no word file" if view in views else "has a word file, but its SQL lacks `-- Words: by view`"
        yield ForensicsError(
            f"The view {view} {what}.", why="`-- Words: by view` and a word file belong together", where=word_file(view).replace(".toml", ".sql")
        )
    for view in sorted(views.keys() & words.keys()):
        try:
            given, columns = views[view]
            found = given if isinstance(given, Yields) else yields(given)
        except sqlglot.errors.ParseError as e:
            yield ForensicsError(f"The view {view} cannot be parsed.", why=str(e).split("\n", 1)[0], where=word_file(view).replace(".toml", ".sql"))
            continue
        yield from _check_view(words[view], found, frozenset(columns))


def _check_view(words: ViewWords, found: Yields, columns: frozenset[str]) -> Iterator[ForensicsError]:
    where = word_file(words.name)
    for column in sorted(words.columns - columns):
        yield ForensicsError(f"The words of {words.name} fill `{column}`, which is not one of its columns.", where=where)
    for code in sorted(found.codes ^ words.codes.keys()) if words.codes else ():
        why = "the SQL yields it" if code in found.codes else "the SQL never yields it"
        yield ForensicsError(f"The code `{code}` of {words.name} is in only one of its files.", why=why, where=where)
    known = columns | {f"{c.removesuffix('_ts')}_at_ms" for c in columns if c.endswith("_ts")} | found.facts | {"zone", "with_dates"}
    used: set[str] = set()
    for code, texts in [("every", words.every), *words.codes.items()]:
        for column, template in texts.items():
            try:
                names = _names(template)
            except jinja2.TemplateError as e:
                yield ForensicsError(f"`{code}.{column}` of {words.name} is not a template.", why=str(e), where=where)
                continue
            for name in sorted(names - known):
                yield ForensicsError(f"`{code}.{column}` of {words.name} names `{name}`, which is neither a column nor a fact.", where=where)
            used |= names
    for fact in sorted(found.facts - used - KEYS):
        yield ForensicsError(f"The fact `{fact}` of {words.name} is never used.", where=where, fix="Use it, or remove it from the SQL.")


def _unused(words: Sequence[Words | ViewWords]) -> Iterator[ForensicsError]:
    """Yield the errors of parts that no case includes, in its own file or another."""
    used = {part for w in words for part in w.used}
    for w in words:
        for part in sorted(part for part in w.parts if (w.name, part) not in used):
            yield ForensicsError(f"The part `{part}` of {w.name} is never included.", where=word_file(w.name))


def _check(rule: str, found: Yields, codes: Mapping[str, Case], columns: frozenset[str]) -> Iterator[ForensicsError]:
    where = f"sql/{RULES}/{rule}.toml"
    if set(found.columns) != columns:
        wrong = sorted(set(found.columns) ^ columns)
        yield ForensicsError(
            f"The rule {rule} yields the wrong columns.", why=f"missing or unknown: {', '.join(wrong)}", where=f"sql/{RULES}/{rule}.sql"
        )
    for code in sorted(found.codes ^ codes.keys()):
        why = "the SQL yields it" if code in found.codes else "the SQL never yields it"
        yield ForensicsError(f"The code `{code}` of {rule} is in only one of its files.", why=why, where=where)
    used: set[str] = set()
    for code, case in codes.items():
        for text, template in case.texts.items():
            try:
                names = _names(template)
            except jinja2.TemplateError as e:
                yield ForensicsError(f"`{code}.{text}` of {rule} is not a template.", why=str(e), where=where)
                continue
            for name in sorted(names - found.facts - _KNOWN):
                yield ForensicsError(
                    f"`{code}.{text}` of {rule} names `{name}`, which is not a fact.", why=f"facts: {', '.join(sorted(found.facts))}", where=where
                )
            used |= names
    for fact in sorted(found.facts - used - KEYS):
        yield ForensicsError(f"The fact `{fact}` of {rule} is never used.", where=where, fix="Use it, or remove it from the SQL.")


def _names(template: str) -> set[str]:
    """Return the names that a template needs from outside; an unknown filter is an error too."""
    tree = environment().parse(template)
    for node in tree.find_all(jinja2.nodes.Filter):
        if node.name not in environment().filters:
            raise jinja2.TemplateError(f"there is no filter `{node.name}`")
    return meta.find_undeclared_variables(tree)
