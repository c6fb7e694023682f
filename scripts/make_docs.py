"""Generate the pages of docs/ that have a source elsewhere (views from the SQL comments, events and captures from the catalogue).

Also the facts of patterns (`parsers/patterns.json`) and the conditions of views (`sql/needs.json`).

python scripts/make_docs.py          # or: make docs
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from importlib import import_module
from itertools import groupby
from os.path import commonprefix
from pathlib import Path
from typing import get_args

import make_needs
import typer
from jinja2 import Environment, nodes

from forensics import schema
from forensics.case import view_files
from forensics.catalogue import patterns
from forensics.catalogue.literals import STORED, to_store
from forensics.cli import app
from forensics.records import layouts
from forensics.report.explain import releases
from forensics.wording.files import Words, rule_words, view_words

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
_MAX_SAMPLES = 2
_THRESHOLD = re.compile(r"((?:^--[^\n]*\n)+)DECLARE OR REPLACE VARIABLE (\w+) (\w+) DEFAULT ([^;]+);", re.MULTILINE)
_TEMPLATES = Environment()  # noqa: S701  (nothing is rendered)
_CODE = re.compile(r"`([^`]*)`")
_FACT = re.compile(r"\*([A-Za-z ]+)\*")
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
    return [(name, comment.replace("''", "'")) for name, comment in view.comments.items()]


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
        "Each rule consists of two files in `sql/7_rules/`, one for its facts and one for its texts, and yields rows of [`finding`](views.md#finding). `forensics sql RULE` prints these rows, and `forensics report --rule RULE` reports them in full. "
        "Names such as `3.9.1-worker_frozen` are recordings of real clusters, named after the release and the injected fault.\n",
        "In the texts of a rule, *italics* (in code, CAPITALS) stand for facts from the logs, and *N* for a number. A part in [brackets] is printed only if the logs show its facts. "
        "In [this / that], at most one of the alternatives is printed. Nouns appear in the plural here; the report inflects them. "
        'In a table, "…" stands for the same words as in the row above.\n',
    ]
    words = rule_words()
    for view in found:
        rule = view_files.rule_id(view.name)
        parts += _worded(words[rule], view, samples.get(rule, ()))
    return "\n".join(parts)


def _worded(words: Words, view: view_files.View, samples: Iterable[str]) -> list[str]:
    """Return a rule's section: its words, its severities and thresholds, and the text and advice of each of its cases."""
    sql = "\n".join(view_files.statements(view.sql))
    shown = filter(None, [_linked(list(samples)), words.shown])
    rows = [
        ("answers", words.question),
        ("why it matters", words.why),
        ("needs", words.needs),
        ("does not fire when", words.silent),
        ("can be wrong", words.wrong),
    ]
    severities = [s for s in ("critical", "warning", "note") if f"'{s}'" in sql]
    rows.append(("severity", ", ".join(severities)))
    compared = sql + _own_steps(view)
    thresholds = [
        f"`{name}` ({default})" for _, name, _, default in _THRESHOLD.findall(view_files.thresholds_sql()) if re.search(rf"\b{name}\b", compared)
    ]
    rows += [("thresholds", ", ".join(thresholds))] if thresholds else []
    rows += [(release if release.startswith("before ") else f"in {release}", text) for release, text in words.releases.items()]
    rows += [("see", ", ".join(words.see))] if words.see else []
    rows.append(("shown by", "; ".join(shown)))
    return [f"## {words.name}\n", f"{words.title}. {view.about}\n", _table(("", ""), iter(rows)), _table(("case", "says", "advises"), _cases(words))]


def _own_steps(rule: view_files.View) -> str:
    """Return the text of the modules that compute what only rules read, of those that this rule reads."""
    all_views = view_files.views()
    others = {read for view in all_views.values() if view.kind != "rule" for read in view.reads}
    modules = [all_views[read].computed for read in rule.reads if read in all_views and all_views[read].kind == "step" and read not in others]
    return "".join(inspect.getsource(import_module(module)) for module in modules if module)


def _linked(samples: list[str]) -> str:
    """Return links to the first samples, and the number of the others."""
    links = [f"[{name}](../sample_logs/{name}/README.md)" for name in samples[:_MAX_SAMPLES]]
    more = len(samples) - len(links)
    return f"the sample{'s' * (len(samples) > 1)} {', '.join(links)}{f' and {more} more' * bool(more)}" if samples else ""


def _cases(words: Words) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each case: its code, headline and advice. Cases with the same texts share a row, and words of the row above are not repeated."""
    texts: dict[tuple[str, str], list[str]] = {}
    for code, case in words.codes.items():
        texts.setdefault((in_general(case.headline), in_general(case.advice)), []).append(f"`{code}`")
    above = ("", "")
    for pair, codes in texts.items():
        yield ", ".join(codes), beyond(pair[0], above[0]), beyond(pair[1], above[1])
        above = pair


def beyond(text: str, before: str) -> str:
    """Return a text without the long beginning and end that it shares with the one before: "…" stands for each."""
    if text == before:
        return "as above"
    start = commonprefix((text, before))
    while start and not (_is_whole(start) and start.endswith((": ", ". ", "]"))):
        start = start[:-1]
    if len(start) > 60 and "[" in start and (rest := text.removeprefix(start).strip()):
        return f"…{'' if rest[0] in ',:;' else ' '}{rest}"
    end = commonprefix((text[::-1], before[::-1]))[::-1]
    cut = next((at for at in range(len(end)) if end[at:].startswith((". ", "] ")) and _is_whole(end[at + 1 :])), None)
    return f"{text[: len(text) - len(end) + cut + 1]} …" if cut is not None and len(end) - cut > 100 else text


def _is_whole(text: str) -> bool:
    return text.count("[") == text.count("]") and text.count("*") % 2 == 0


def in_general(template: str) -> str:
    """Return a template for any finding: *names* in place of the finding's facts, [brackets] around parts that depend on them."""
    text = " ".join(_phrases(_TEMPLATES.parse(template.strip()).body).split())
    text = _CODE.sub(lambda code: code[1] if _FACT.fullmatch(code[1]) else _FACT.sub(lambda f: f[1].upper().replace(" ", "_"), code[0]), text)
    return re.sub(r"\[(\w+) / \1\]", r"\1", text)


def _phrases(body: Iterable[nodes.Node]) -> str:
    return "".join(map(_phrase, body))


def _phrase(node: nodes.Node | None) -> str:
    """Return a part of a template in the plural; a node of another kind stands for the first fact that it names."""
    match node:
        case nodes.TemplateData():
            return node.data
        case nodes.Output():
            return _phrases(node.nodes)
        case nodes.If():
            bodies = _bodies(node)
            return _phrases(bodies[0]) if len(bodies) == 1 and (node.else_ or _is_one(node.test) is False) else _alternatives(_ways(node))
        case nodes.For():
            return f"{_phrases(node.body).strip()}, ..."
        case nodes.CondExpr():
            return _either(node)
        case nodes.Const():
            return str(node.value)
        case nodes.List():
            return " or ".join(map(_phrase, node.items))
        case nodes.Filter():
            return _filtered(node)
        case nodes.Concat():
            return _phrases(node.nodes)
        case nodes.Add(right=nodes.Const()):
            return _phrase(node.left)
        case nodes.Mul() | nodes.FloorDiv() | nodes.Div() | nodes.Add():
            sign = "×" if isinstance(node, nodes.Mul) else "or" if isinstance(node, nodes.Add) else "÷"
            return f"{_phrase(node.left)} {sign} {_phrase(node.right)}"
        case nodes.Mod(left=nodes.Const(value=str() as text)):
            return text.replace("%d", _phrase(node.right))
        case nodes.Name() | nodes.Getattr():
            return _called(node.name if isinstance(node, nodes.Name) else node.attr)
    return _phrase(next(node.find_all((nodes.Name, nodes.Getattr)), None)) if node else ""


def _called(name: str) -> str:
    return "*N*" if name == "times" or name.endswith("_count") else f"*{name.removesuffix('_ms').replace('_', ' ')}*"


def _filtered(node: nodes.Filter) -> str:
    fixed = {"length": "*N*", "times": "*N* times", "duration": "*duration*", "seconds": "*duration*", "seconds_to": "*duration*", "clock": "*time*"}
    if node.name != "count":
        return fixed.get(node.name) or _phrase(node.node)
    one, *several = (str(a.value) for a in node.args if isinstance(a, nodes.Const))
    return f"*N* {several[0] if several else f'{one}s'}"


def _is_one(test: nodes.Node) -> bool | None:
    """Return whether a condition is for one thing or two (True) or for several (False); None if it is about something else."""
    if isinstance(test, nodes.Compare) and len(test.ops) == 1 and isinstance(test.ops[0].expr, nodes.Const) and test.ops[0].expr.value in (1, 2):
        return {"eq": True, "gt": False}.get(test.ops[0].op)
    return None


def _either(node: nodes.CondExpr) -> str:
    if any(name.name == "loop" for name in node.test.find_all(nodes.Name)):
        return ""  # between the rounds of a loop
    is_one = _is_one(node.test)
    if is_one is not None:
        return _phrase(node.expr2 if is_one else node.expr1)
    one, other = _phrase(node.expr1), _phrase(node.expr2)
    return one if one == other else _alternatives([one, other])


def _bodies(node: nodes.If) -> list[list[nodes.Node]]:
    """Return the bodies of a condition, without those for one thing where another is for several."""
    if _is_one(node.test) is False:
        return [node.body]
    bodies = [way.body for way in (node, *node.elif_) if not (node.else_ and _is_one(way.test))]
    return [*bodies, node.else_] if node.else_ else bodies


def _ways(node: nodes.If) -> list[str]:
    """Return the alternative texts of a condition; a condition that is the whole of one of them adds its own."""
    ways = []
    for body in _bodies(node):
        inner = [n for n in body if _phrase(n).strip()]
        ways += _ways(inner[0]) if len(inner) == 1 and isinstance(inner[0], nodes.If) else [_phrases(body)]
    return ways


def _alternatives(ways: list[str]) -> str:
    """Return texts of which one is printed, or none: `[this / that]`."""
    texts = list(dict.fromkeys(way.strip() for way in ways if way.strip()))
    if not texts:
        return ""
    end = ""
    if len(texts) == 2 and (longer := max(texts, key=len)).endswith(f" {(shorter := min(texts, key=len))}"):
        texts, end = [longer.removesuffix(shorter).strip()], f" {shorter}"
    filled = [way for way in ways if way.strip()]
    before, behind = (" " if filled[at][at].isspace() else "" for at in (0, -1))  # blanks at the ends belong to the sentence around it
    return f"{before}[{' / '.join(texts)}]{end}{behind}"


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
    facts = ROOT / "parsers" / STORED
    facts.write_text(to_store(event.pattern for event in patterns.load().events), encoding="utf-8")
    print(facts)
    conditions = ROOT / "sql" / make_needs.needs.STORED
    conditions.write_text(make_needs.content(), encoding="utf-8")
    print(conditions)
