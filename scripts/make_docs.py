"""Generate the pages of docs/ that have a source elsewhere: views from the SQL comments, events and captures from the catalogue.

python scripts/make_docs.py          # or: make docs
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import get_args

import typer
from jinja2 import Environment, nodes

from forensics import schema
from forensics.case import view_files
from forensics.catalogue import patterns
from forensics.cli import app
from forensics.records import layouts
from forensics.report.explain import releases
from forensics.wording.files import Words, rule_words, view_words

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
_COLUMN = re.compile(r"^\s+`?(\w+)`?\s+COMMENT\s+'((?:[^']|'')*)'", re.MULTILINE)
_THRESHOLD = re.compile(r"((?:^--[^\n]*\n)+)DECLARE OR REPLACE VARIABLE (\w+) (\w+) DEFAULT ([^;]+);", re.MULTILINE)
_TEMPLATES = Environment()  # noqa: S701  (nothing is rendered)
_MADE = "<!-- Made by `make docs`; do not edit. -->\n"


def pages() -> dict[str, str]:
    """Return the content of every generated page, by file name."""
    return {"views.md": views(), "rules.md": rules(), "events.md": events(), "commands.md": commands()}


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(_cell(c) for c in row) + " |" for row in rows)]
    return "\n".join(lines) + "\n"


def _columns(view: view_files.View) -> list[tuple[str, str]]:
    if view.name in ("event", "snapshot"):  # the schema defines their columns
        return [(c.name, c.meaning) for c in schema.ENVELOPE] + [("...", "one column for each capture: see [events](events.md#captures)")]
    return [(name, comment.replace("''", "'")) for name, comment in _COLUMN.findall(view.sql)]


def views() -> str:
    """Return every view with its columns; the public ones first, then steps."""
    found, words = sorted(view_files.views().values(), key=lambda v: v.name), view_words()
    parts = [
        _MADE,
        "# Views\n",
        '`forensics sql NAME` prints a view; `spark-sql -i forensics-case/open.sql -e "SELECT ..."` queries the public views and the rules. '
        "Columns ending in `_ts` are times on their writer's own clock, in UTC. `_lo` and `_hi` are the earliest and the latest moment on the clock of "
        "one process, the reference: only these may be compared between processes. A set of processes whose clocks are related by messages is called "
        "an island; each island has its own reference.\n",
    ]
    for view in (v for v in found if v.kind == "public"):
        parts += [f"## {view.name}\n", f"{view.about}", _grain(view), _table(("column", "meaning"), iter((f"`{n}`", c) for n, c in _columns(view)))]
        if view.name in words and words[view.name].codes:
            parts.append(f"`code` is one of {', '.join(f'`{code}`' for code in words[view.name].codes)}.\n")
    parts += [
        "## Steps\n",
        "Views from which other views are built; their columns may change. `spark-sql -i forensics-case/open.sql -i forensics-case/steps.sql` adds them.\n",
    ]
    steps = sorted((v for v in found if v.kind == "step"), key=lambda v: (v.folder, v.name))
    parts.append(_table(("layer", "view", "a row"), iter((f"`{v.folder}`", f"`{v.name}`", v.about) for v in steps)))
    parts += [
        "## Thresholds\n",
        "Session variables. Use `SET VAR name = value` before reading a view that is not stored, or in your own session with `open.sql` and `steps.sql`.\n",
    ]
    thresholds = ((f"`{name}`", default, comment.replace("--", " ")) for comment, name, _, default in _THRESHOLD.findall(view_files.thresholds_sql()))
    parts.append(_table(("variable", "default", "meaning"), thresholds))
    return "\n".join(parts)


def _grain(view: view_files.View) -> str:
    return f"Rows are identified by: {', '.join(f'`{g}`' for g in view.grain)}.\n" if view.grain else ""


def rules() -> str:
    """Return every rule: what it answers, what it needs, when it is silent, and what shows it."""
    found = sorted((v for v in view_files.views().values() if v.kind == "rule"), key=lambda v: v.name)
    samples = _samples()
    parts = [
        _MADE,
        "# Rules\n",
        "Each rule consists of two files in `sql/7_rules/`, its facts and its words, and yields rows of [`finding`](views.md#finding). `forensics sql RULE` prints these rows, and `forensics report --rule RULE` reports them in full. "
        "Names such as `3.9.1-worker_frozen` are recordings of real clusters, named after the release and the injected fault. In a rule's texts, *italics* stand for "
        "facts from the logs, and [brackets] mark parts that are printed only if the logs contain these facts.\n",
    ]
    words = rule_words()
    for view in found:
        rule = view_files.rule_id(view.name)
        parts += _worded(words[rule], view, samples.get(rule, ()))
    return "\n".join(parts)


def _worded(words: Words, view: view_files.View, samples: Iterable[str]) -> list[str]:
    """Return a rule's section: its words, its severities and thresholds, and the text and advice of each of its cases."""
    sql = "\n".join(view_files.statements(view.sql))
    shown = [*(f"the sample [{name}](../sample_logs/{name}/README.md)" for name in samples), *filter(None, [words.shown])]
    rows = [("answers", words.question), ("why it matters", words.why), ("needs", words.needs), ("is silent when", words.silent)]
    severities = [s for s in ("critical", "warning", "note") if f"'{s}'" in sql]
    rows.append(("severity", ", ".join(severities)))
    thresholds = [
        f"`{name}` ({default})" for _, name, _, default in _THRESHOLD.findall(view_files.thresholds_sql()) if re.search(rf"\b{name}\b", sql)
    ]
    rows += [("thresholds", ", ".join(thresholds))] if thresholds else []
    rows += [(release if release.startswith("before ") else f"in {release}", text) for release, text in words.releases.items()]
    rows += [("see", ", ".join(words.see))] if words.see else []
    rows.append(("shown by", "; ".join(shown)))
    cases = [(f"`{code}`", _in_general(case.headline), _in_general(case.advice)) for code, case in words.codes.items()]
    return [f"## {words.name}\n", f"{words.title}. {view.about}\n", _table(("", ""), iter(rows)), _table(("case", "says", "advises"), iter(cases))]


def _in_general(template: str) -> str:
    """Return a template for any finding: *names* in place of the finding's facts, [brackets] around conditional parts."""
    return "".join(map(_phrase, _TEMPLATES.parse(template.strip()).body))


def _phrase(node: nodes.Node | None) -> str:
    if isinstance(node, nodes.TemplateData):
        return node.data
    if isinstance(node, nodes.Output):
        return "".join(map(_phrase, node.nodes))
    if isinstance(node, nodes.If):
        ways = ["".join(map(_phrase, body)) for body in (node.body, *(e.body for e in node.elif_), node.else_)]
        ways_with_text = [way for way in ways if way.strip()]
        # Blanks at the ends belong to the sentence around it.
        before, behind = (" " if ways_with_text and ways_with_text[at][end].isspace() else "" for at, end in ((0, 0), (-1, -1)))
        return f"{before}[{' / '.join(way.strip() for way in ways_with_text)}]{behind}" if ways_with_text else ""
    if isinstance(node, nodes.For):
        return "".join(map(_phrase, node.body))
    if isinstance(node, nodes.CondExpr):
        both = [node.expr1, node.expr2]
        return ("/" if all(isinstance(n, nodes.Const) for n in both) else " or ").join(dict.fromkeys(filter(None, map(_phrase, both))))
    if isinstance(node, nodes.Const):
        return str(node.value)
    if isinstance(node, nodes.Filter):
        phrase = _phrase(node.node)
        if node.name == "count":
            one, *several = (str(a.value) for a in node.args if isinstance(a, nodes.Const))
            return f"{phrase} {several[0] if several else f'{one}s'}"
        return f"{phrase} times" if node.name == "times" else phrase
    name = node.name if isinstance(node, nodes.Name) else next((n.name for n in node.find_all(nodes.Name)), "") if node else ""
    called = f"*{name.removesuffix('_ms').replace('_', ' ')}*" if name else ""
    return str(node.left.value).replace("%d", called) if isinstance(node, nodes.Mod) and isinstance(node.left, nodes.Const) else called


def _samples() -> dict[str, list[str]]:
    """Return the samples that show each rule."""
    found: dict[str, list[str]] = {}
    for file in sorted((ROOT / "sample_logs").glob("*/expected/finding.json")):
        for rule in sorted({row["rule"] for row in json.loads(file.read_text(encoding="utf-8"))}):
            found.setdefault(rule, []).append(file.parent.parent.name)
    return found


def events() -> str:
    """Return every event by subject, with the releases of each wording; then the captures, and the layouts."""
    catalogue = patterns.load()
    parts = [
        _MADE,
        "# Events\n",
        "The events that the catalogue recognises. An event has one name for all releases, layouts and client libraries; the column `kafka` gives the releases that print "
        "a wording. `forensics explain LINE` prints all of this for one line, and what the line proves.\n",
    ]
    everything = sorted(catalogue.events, key=lambda e: (e.category, e.name, e.file, e.line))
    for category, same in groupby(everything, key=lambda e: e.category):
        parts.append(f"## {category}\n")
        rows = []
        for name, wordings in groupby(same, key=lambda e: e.name):
            for number, e in enumerate(wordings):
                example = e.examples[0].line.split("\n")[0] if e.examples else ""
                shown = example if len(example) <= 140 else example[:139] + "…"
                rows.append((f"`{name}`" if number == 0 else "", releases(e.kafka), f"`` {shown.replace('`', chr(39))} ``"))
        parts.append(_table(("event", "kafka", "example"), iter(rows)))
    parts += ["## Captures\n", "The values that patterns extract from messages; each is a column of `event`.\n"]
    parts.append(_table(("capture", "type", "meaning"), iter((f"`{f.name}`", f.type, f.meaning) for f in catalogue.fields.values())))
    parts += ["## Layouts\n", "Formats of whole lines; the layout is chosen for each record. `--layout` on ingest adds another.\n"]
    known = layouts.packaged().layouts
    parts.append(_table(("layout", "example"), iter((f"`{x.name}`", f"`` {_first_line(x)} ``") for x in known)))
    return "\n".join(parts)


def commands() -> str:
    """Return every command with its arguments and options, as in its help. They come from the functions, because typer's help differs by release."""
    parts = [_MADE, "# Commands\n", f"{app.info.help}\n", f"{app.info.epilog}\n"]
    for command in sorted(app.registered_commands, key=_command_name):
        function = command.callback
        assert function is not None
        parameters = inspect.signature(function, eval_str=True).parameters.values()
        parts += [f"## forensics {_command_name(command)}\n", f"{inspect.cleandoc(function.__doc__ or '')}\n"]
        rows = [(f"`{_named(p)}`", _meaning(p)) for p in parameters]
        parts.append(_table(("argument or option", "meaning"), iter(rows)))
    return "\n".join(parts)


def _command_name(command: typer.models.CommandInfo) -> str:
    return command.name or command.callback.__name__  # type: ignore[union-attr]


def _info(parameter: inspect.Parameter) -> typer.models.ArgumentInfo | typer.models.OptionInfo:
    return parameter.annotation.__metadata__[0]  # type: ignore[no-any-return]


def _choices(parameter: inspect.Parameter) -> list[str]:
    """Return the possible values of an option if they are few and known."""
    kinds = get_args(parameter.annotation.__origin__) or (parameter.annotation.__origin__,)
    return [word.value for kind in kinds if isinstance(kind, type) and issubclass(kind, Enum) for word in kind]


def _named(parameter: inspect.Parameter) -> str:
    """Return `--case DIR`, as in the help."""
    info = _info(parameter)
    if isinstance(info, typer.models.ArgumentInfo):
        return info.metavar or parameter.name.upper()
    # In an annotation, the first name takes the place of the default.
    names = ", ".join(name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str))
    if parameter.annotation.__origin__ is bool:
        return names
    return f"{names} {info.metavar or '|'.join(_choices(parameter)) or 'VALUE'}"


def _meaning(parameter: inspect.Parameter) -> str:
    """Return the help of a parameter, with its environment variable and its default."""
    info, parts = _info(parameter), []
    parts.append((info.help or "").strip())
    if info.envvar:
        parts.append(f"Also from `${info.envvar}`.")
    default = getattr(parameter.default, "value", parameter.default)
    if default not in (None, "", False, inspect.Parameter.empty) and "by default" not in parts[0]:
        parts.append(f"By default `{default}`.")
    return " ".join(filter(None, parts))


def _first_line(layout: layouts.Layout) -> str:
    line = layout.examples[0].line.split("\n")[0] if layout.examples else ""
    return (line if len(line) <= 160 else line[:159] + "…").replace("`", "'")


if __name__ == "__main__":
    for file, text in pages().items():
        (DOCS / file).write_text(text, encoding="utf-8")
        print(DOCS / file)
