"""The commands. They compute nothing: each calls one module and prints what it gives. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from forensics import __version__, api, engines
from forensics.api import ReportFormat
from forensics.console import output_file, progress, say, say_ingested, say_redacted
from forensics.errors import SHELL, ForensicsError, UsageError
from forensics.evidence.objects import Location
from forensics.evidence.objects import place as location

if TYPE_CHECKING:
    from forensics.inventory.evidence import Evidence

app = typer.Typer(
    name="forensics",
    help="Rebuild Kafka group rebalances from logs: who owned what, when, whether twice, why, and which lines prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 findings that --fail-on asks for, or `explain` does not know a line; 2 wrong use; 3 done, but no log was found or some evidence could not be read; 4 failed.",
)


_SUFFIXES = {
    "": ReportFormat.text,
    ".txt": ReportFormat.text,
    ".text": ReportFormat.text,
    ".log": ReportFormat.text,
    ".html": ReportFormat.html,
    ".htm": ReportFormat.html,
    ".md": ReportFormat.markdown,
    ".markdown": ReportFormat.markdown,
    ".json": ReportFormat.json,
}


class RowFormat(StrEnum):
    """Forms of rows."""

    table = "table"
    csv = "csv"
    json = "json"


class ExportFormat(StrEnum):
    """Other people's tools that a case can be handed to."""

    perfetto = "perfetto"
    timesketch = "timesketch"


class AnswerFormat(StrEnum):
    """Forms of a short answer."""

    text = "text"
    json = "json"


class ProofLines(StrEnum):
    """Lines of each proof that are told."""

    telling = "telling"
    all = "all"


class FailOn(StrEnum):
    """Findings that make the exit code 1."""

    proved = "proved"
    any = "any"
    never = "never"


def _complete_query(incomplete: str) -> list[str]:
    from forensics.report import query

    return [name for name in query.saved_queries("", "rules") if name.startswith(incomplete)]


def _complete_rule(incomplete: str) -> list[str]:
    return [name for name in api.rule_ids() if name.startswith(incomplete)]


def _case_in(ctx: typer.Context) -> Path:
    """The case of a command line that is being written."""
    return Path(ctx.params.get("case") or os.environ.get("FORENSICS_CASE") or "forensics-case")


def _complete_group(ctx: typer.Context, incomplete: str) -> list[str]:
    from forensics.report import completion

    return [name for name in completion.groups(_case_in(ctx)) if name.startswith(incomplete)]


def _complete_resource(ctx: typer.Context, incomplete: str) -> list[str]:
    from forensics.report import completion

    return [name for name in completion.resources(_case_in(ctx)) if name.startswith(incomplete)]


def _complete_id(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    from forensics.report import completion

    return completion.ids(_case_in(ctx), incomplete)


CaseOption = Annotated[Path, typer.Option("--case", envvar="FORENSICS_CASE", metavar="DIR", help="The case: a folder, or s3://BUCKET/PREFIX.")]
EngineOption = Annotated[
    str,
    typer.Option("--engine", envvar="FORENSICS_ENGINE", metavar="NAME", help="What runs queries: spark (the default), or sail, which needs no Java."),
]
MasterOption = Annotated[str, typer.Option("--master", metavar="URL", help="Spark master; by default this machine.")]
JobsOption = Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="Cores to use on this machine; by default all.")]
ParsersOption = Annotated[
    list[Path] | None, typer.Option("--parsers", metavar="DIR", help="A folder of your own pattern files, added to the catalogue. Repeatable.")
]
AssumeSkewOption = Annotated[
    int | None,
    typer.Option(
        "--assume-skew",
        metavar="MS",
        min=0,
        help="Assume that all clocks agree within this many milliseconds, where no messages show it. The report says so, and the case remembers it.",
    ),
]
TzOption = Annotated[
    str,
    typer.Option(
        "--tz",
        metavar="ZONE",
        help="Your time zone: times are shown in it, and --since and --until are read in it. Europe/Berlin, +02:00; by default UTC.",
    ),
]
NoPagerOption = Annotated[
    bool,
    typer.Option(
        "--no-pager", help="Print all at once, also what is longer than the screen. $FORENSICS_PAGER or $PAGER names the pager; by default less."
    ),
]
EvidenceOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--evidence", metavar="DIR",
        help="Where the evidence is now: a folder, a file or s3://BUCKET/PREFIX. Evidence of a case that you did not make is read only there. Repeatable.",
    ),
]  # fmt: skip
CASE = Path("forensics-case")


def _written(text: str) -> str:
    """A place as it is written; an empty one, as of a variable that is not set, would be the folder where the command runs."""
    if not text.strip():
        raise typer.BadParameter("a path is empty; `.` is the folder where you are")
    return text


def _place(text: str) -> Path:
    return Path(_written(text))


def _zone(name: str) -> tzinfo:
    """The reader's time zone."""
    if not name:
        return UTC
    from forensics.records.timestamps import find_zone

    return find_zone(name)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"forensics {__version__}")
        raise typer.Exit


@app.callback()
def _root(  # every command runs it first
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")] = False,
) -> None:
    del version  # its callback has printed it
    SHELL.reads = True


@app.command(short_help="Read logs into a case.")
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...", parser=_place, help="Log files, folders, .gz, .zst, .zip, .tar(.gz), nested or not; or s3://BUCKET/PREFIX."
        ),
    ],
    case: CaseOption = CASE,
    time_zone: Annotated[
        list[str] | None,
        typer.Option("--time-zone", metavar="[GLOB=]ZONE", help="Zone of times that have none: Europe/Berlin, +02:00, 'w2/*=+02:00'. Repeatable."),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option("--layout", metavar="[GLOB=]PATTERN", help="PatternLayout (log4j, logback) of your own layout. Repeatable."),
    ] = None,
    host: Annotated[list[str] | None, typer.Option("--host", metavar="GLOB=NAME", help="Host that wrote these files. Repeatable.")] = None,
    parsers: ParsersOption = None,
    keep_all: Annotated[
        bool,
        typer.Option(
            "--keep-all",
            help="Keep lines that carry no fact (unused configurations, lists of plugins, REST requests that only read) as rows of the view event. "
            "Without it they are counted, in the view counted_line; the verdicts are the same.",
        ),
    ] = False,
    assume_skew: AssumeSkewOption = None,
    no_views: Annotated[bool, typer.Option("--no-views", help="Leave the views to the next report, and open.sql without them.")] = False,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Read logs into a case folder. Run it again to add what is new: what the case has already is skipped by its content."""
    with progress() as step:
        read = api.ingest(
            paths, case, time_zone=time_zone or (), layout=layout or (), host=host or (), parsers=parsers or (), keep_all=keep_all,
            assume_skew_ms=assume_skew, views=not no_views, engine=engine, master=master, jobs=jobs, progress=step, command_line=sys.argv,
        )  # fmt: skip
    say_ingested(read.summary, location(case))
    if no_views and not read.summary.case.views():
        say(f"The case has no views; the next `forensics report --case {quote(str(location(case)))}` builds them.")
    if _nothing_in(read.summary.evidence, [*map(location, paths)]) or read.faults:
        raise typer.Exit(3)


@app.command(short_help="Show what happened, from a case or straight from logs.")
def report(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LOGS", parser=_written, help="Files, folders, archives, s3://BUCKET/PREFIX, or - for standard input: read first, into a case."
        ),
    ] = None,
    case: Annotated[
        Path | None,
        typer.Option("--case", metavar="DIR", help="The case: a folder, or s3://BUCKET/PREFIX; by default $FORENSICS_CASE or forensics-case."),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="TIME",
            help="From this time on: ISO 8601 (in your --tz unless it has a zone), a clock time of the case's day: 07:52, or a span back from the last event: 2h, 30m, 1d.",
        ),
    ] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Up to this time, written alike; a date alone is that whole day.")] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="ID", autocompletion=_complete_group, help="Only this group. Repeatable.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", metavar="RULE", autocompletion=_complete_rule, help="Only findings of this rule, each in full. Repeatable."),
    ] = None,
    tz: TzOption = "",
    form: Annotated[
        ReportFormat | None,
        typer.Option("--format", help="Form of the report; by default what FILE's name ends with (.html, .md, .json), else text."),
    ] = None,
    proof: Annotated[
        ProofLines, typer.Option("--proof", help="Lines shown of each proof: the three that tell the most, or all. With --rule, all.")
    ] = ProofLines.telling,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to standard output.")] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            help="Exit with 1 when there are critical or warning findings: proved ones, any, or never; with 3 when nothing could be examined.",
        ),
    ] = FailOn.never,
    time_zone: Annotated[
        list[str] | None, typer.Option("--time-zone", metavar="[GLOB=]ZONE", help="With LOGS: as for ingest, which has more options.")
    ] = None,
    assume_skew: AssumeSkewOption = None,
    no_pager: NoPagerOption = False,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Show what happened: split brain first, then findings, each group's generations, coordinators, clocks, and what was not seen.

    With LOGS, they are read first. Their case is kept in the user's cache, so that the same logs are answered at once the next time; --case DIR puts it
    elsewhere.
    """
    unread = False
    # A wrong name is said before logs are read.
    form = form or _form_of(output)
    api.check_rules(rule or ())
    if logs:
        case, unread = _case_of(logs, case, time_zone or (), assume_skew, (engine, master, jobs))
    elif time_zone:
        raise UsageError("--time-zone goes with LOGS.", where="--time-zone", fix="Give the zones of a case to `forensics ingest`.")
    is_named = case is not None
    case = case or Path(os.environ.get("FORENSICS_CASE") or CASE)
    told = _opened(case, engine, master, jobs, assume_skew).report(since=since, until=until, groups=group or (), rules=rule or (), tz=tz)
    _tell(told, form, output, all_lines=proof is ProofLines.all, pager=not no_pager)
    if is_named:
        where = f"The case is in {location(case)}: " if logs else ""
        say(f"{where}`forensics show ID --case {quote(str(location(case)))}` prints the lines behind an id.")
    if told.model.failed(fail_on):
        raise typer.Exit(1)
    if fail_on is not FailOn.never and told.model.nothing_examined():
        say("Split brain could not be examined; the report says why. With --fail-on, this counts as evidence that could not be read.")
        raise typer.Exit(3)
    if unread:
        raise typer.Exit(3)


def _form_of(output: Path | None) -> ReportFormat:
    """The form of a report by the ending of its file; text where nothing is named.

    Raises:
        UsageError: the ending is none of a form.
    """
    ending = output.suffix.lower() if output else ""
    if ending not in _SUFFIXES:
        known = ", ".join(e for e in _SUFFIXES if e)
        raise UsageError(f"No form of a report ends in `{ending}`.", where="--output", fix=f"The endings: {known}; or say the form with --format.")
    return _SUFFIXES[ending]


def _case_of(
    logs: Sequence[str], case: Path | None, zones: Sequence[str], assume_skew: int | None, runs: tuple[str, str, int | None]
) -> tuple[Path, bool]:
    """The case of some logs, made where there is none yet, and whether something could not be read.

    Args:
        logs: paths, or `-` for standard input.
        case: where the user wants it; None: in the cache.
        zones: as told to ingest.
        assume_skew: the user's own word on the clocks, milliseconds.
        runs: engine, master and cores, as told.
    """
    from forensics.case import cache

    paths = [cache.kept_input(sys.stdin.buffer) if path == "-" else cache.kept_pipe(path) or location(path) for path in logs]
    thresholds = sorted((api.thresholds(assume_skew) or {}).items())
    place = case or cache.case_folder(paths, [__version__, *zones, *(f"{name}={value}" for name, value in thresholds)])
    if case is None and (place / "case.json").is_file():
        from forensics.case.folder import open_case

        evidence = open_case(place).evidence()
        return place, _nothing_in(evidence, paths) or any(e.note and e.status in ("read", "unreadable") for e in evidence)
    engine, master, jobs = runs
    with progress() as step:
        read = api.ingest(
            [str(path) for path in paths],
            place,
            time_zone=zones,
            assume_skew_ms=assume_skew,
            engine=engine,
            master=master,
            jobs=jobs,
            progress=step,
            command_line=sys.argv,
        )
    say_ingested(read.summary, place)
    if case is None:
        cache.tidy()
    return place, _nothing_in(read.summary.evidence, paths) or bool(read.faults)


def _nothing_in(evidence: Sequence[Evidence], paths: Sequence[Location]) -> bool:
    """Whether a case holds no log at all, which is said, and how many other files there are."""
    if any(e.status in ("read", "unreadable") for e in evidence):
        return False
    others = sum(e.status == "skipped" for e in evidence)
    names = ", ".join(f"`{path}`" for path in paths[:3]) + ", …" * (len(paths) > 3)
    files = "1 other file is" if others == 1 else f"{others:,} other files are"
    say(f"No log was found in {names}: " + (f"{files} there." if others else "nothing is there."))
    return True


def _opened(path: Path, engine: str, master: str, jobs: int | None, assume_skew: int | None = None) -> api.Case:
    """The case, its views built first where they are not yet, or not with these thresholds."""
    from forensics.case.views import OLDER

    case = api.open_case(path, engine=engine, master=master, jobs=jobs, assume_skew_ms=assume_skew)
    if case.moved_from:
        say(f"The case was moved here from {case.moved_from}: it is only read, and its open.sql names that place. {_make_yours(path)}")
    if case.outdated == OLDER:
        say("The case's views were built by another version of this program; they are built again.")
    if case.outdated:
        with progress() as step:
            case.prepare(step)
    return case


def _make_yours(case: Path) -> str:
    """What to do with a case that was moved."""
    return f"`forensics verify {quote(str(location(case)))} --rebuild` makes it yours."


def _tell(told: api.Report, form: ReportFormat, output: Path | None, *, all_lines: bool, pager: bool) -> None:
    """Writes a report whole, to a file or to standard output."""
    if form is ReportFormat.text and output is None:
        from forensics.report import text

        text.render(told.document(all_lines=all_lines), pager=pager)
        return
    written = told.render(form, all_lines=all_lines)
    if output is None:
        if form in (ReportFormat.html, ReportFormat.json) and isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # as the page says of itself, and as JSON has to be
        sys.stdout.write(written)
        return
    try:
        with output_file(output) as file:
            file.write(written)
    except OSError as e:
        raise UsageError(f"The report cannot be written to `{output}`.", why=e.strerror or str(e), where="--output") from e
    say(f"The report is in {output}.")


@app.command(short_help="Draw who owned what, and when.")
def timeline(
    group: Annotated[str, typer.Argument(metavar="[GROUP]", autocompletion=_complete_group, help="Only this group; by default all.")] = "",
    resource: Annotated[
        list[str] | None,
        typer.Option("--resource", metavar="NAME", autocompletion=_complete_resource, help="Only this task, connector or partition. Repeatable."),
    ] = None,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="As for report: draw only this time.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="As for report.")] = "",
    tz: TzOption = "",
    no_pager: NoPagerOption = False,
    case: CaseOption = CASE,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Draw who owned what in the terminal: a row for each resource, a lane for each owner, two owners at once, and the generations above."""
    from forensics.report import screen, text
    from forensics.report import timeline as drawn

    try:
        told = _opened(case, engine, master, jobs).report(since=since, until=until, groups=[group] if group else (), tz=tz)
    except UsageError as e:
        raise UsageError(e.what, why=e.why, where="GROUP" if e.where == "--group" else e.where, fix=e.fix) from e
    text.render(drawn.compose(told.model, screen.width(), resource or ()), pager=not no_pager)


@app.command(short_help="Hand a case to Perfetto or Timesketch.")
def export(
    to: Annotated[ExportFormat, typer.Option("--to", help="perfetto: a trace for ui.perfetto.dev; timesketch: JSON lines.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write here; - is standard output.")],
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="As for report.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="As for report.")] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="ID", autocompletion=_complete_group, help="Only this group. Repeatable.")
    ] = None,
    case: CaseOption = CASE,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Write a case in the form of another tool, with all times on the reference clock.

    Perfetto draws each owner of a task or partition as a track, with overlaps and rebalances beside it. Timesketch gets every event, finding and overlap.
    """
    from forensics.share import perfetto, timesketch

    told = _opened(case, engine, master, jobs).report(since=since, until=until, groups=group or ())
    try:
        with open(1, "w", encoding="utf-8", closefd=False) if str(output) == "-" else output_file(output) as file:
            written = perfetto.write(told.model, file) if to is ExportFormat.perfetto else timesketch.write(told.case, told.model, file)
    except BrokenPipeError:
        raise
    except OSError as e:
        raise UsageError(f"The export cannot be written to `{output}`.", why=e.strerror or str(e), where="--output") from e
    if str(output) != "-":
        say(f"{written:,} {'slices' if to is ExportFormat.perfetto else 'lines'} written to {output}.")


@app.command(short_help="Print a saved query's rows, or those of your own SQL.")
def sql(
    name: Annotated[str, typer.Argument(metavar="[NAME]", autocompletion=_complete_query, help="A view or a rule; --list names them.")] = "",
    expression: Annotated[str, typer.Option("-e", metavar="TEXT", help="Your own SQL over the case's views.")] = "",
    file: Annotated[Path | None, typer.Option("-f", metavar="FILE", help="Your own SQL, from a file.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the views and rules, with what a row of each is.")] = False,
    columns: Annotated[list[str] | None, typer.Option("--columns", metavar="A,B", help="Only these columns, in this order. Repeatable.")] = None,
    form: Annotated[RowFormat, typer.Option("--format", help="Form of the rows.")] = RowFormat.table,
    no_pager: NoPagerOption = False,
    case: CaseOption = CASE,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Print the rows of a saved query (a view or a rule by its name), or of your own SQL. Several statements: the last one's rows."""
    from forensics.report import query, screen

    if listed:
        with screen.output(pager=not no_pager) as out:
            query.print_list(out, screen.width() if screen.is_terminal() else screen.told_width())
        return
    if sum(map(bool, (name, expression, file))) != 1:
        raise UsageError("Give one of NAME, -e TEXT and -f FILE.", fix="`forensics sql --list` names the saved queries.")
    view = query.saved(name) if name else None
    statements = [query.Statement(f"SELECT * FROM `{view.name}`")] if view else query.own(expression, file)
    opened = _opened(case, engine, master, jobs)
    wanted = query.Wanted(
        form,
        [name for part in columns or () for name in part.replace(",", " ").split()],
        screen.width() if screen.is_terminal() else screen.told_width(),
    )
    # Only a table has an end that is near: the other forms are handed on as they come.
    with screen.output(pager=form is RowFormat.table and not no_pager) as out:
        if (rows := query.stored(opened.folder, view, statements)) is not None:
            left = query.print_rows(rows, wanted, out)
        else:
            left = query.run(opened.engine, opened.folder, statements, wanted, out)
    if left:
        say(f"{left:,} more rows; --format csv or json prints all.")


@app.command(short_help="Print the raw lines behind an id.")
def show(
    wanted: Annotated[
        str, typer.Argument(metavar="ID", autocompletion=_complete_id, help="An event's, finding's or ownership's id, or its first characters.")
    ],
    context: Annotated[int, typer.Option("--context", "-C", metavar="N", min=0, max=1000, help="Lines before and after each.")] = 2,
    merge: Annotated[
        bool,
        typer.Option(
            "--merge",
            help="Lines of all processes in one order, on the reference clock. A time (07:52:24) or a generation (GROUP:13) in place of ID implies it.",
        ),
    ] = False,
    tz: TzOption = "",
    evidence: EvidenceOption = None,
    no_pager: NoPagerOption = False,
    case: CaseOption = CASE,
) -> None:
    """Print the raw lines behind an event, a finding or an ownership, from the evidence, with context."""
    from forensics.case.folder import open_case
    from forensics.report import text
    from forensics.report.show import asks_for_more
    from forensics.report.show import show as shown

    if merge or asks_for_more(wanted):
        from forensics.report.merged import show as merged

        text.render(merged(open_case(case), wanted, context, _zone(tz)), pager=not no_pager)
        return
    text.render(shown(open_case(case), wanted, context, _zone(tz), [*map(location, evidence or ())]), pager=not no_pager)


@app.command(short_help="Check a case and its evidence against what was recorded.")
def verify(
    named: Annotated[Path | None, typer.Argument(metavar="CASE", help="The case; --case may be left out before it.")] = None,
    case: CaseOption = CASE,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Make damaged views again from the case's tables, if those are whole. Of a case that was moved, make open.sql name its present place.",
        ),
    ] = False,
    evidence: EvidenceOption = None,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
    no_pager: NoPagerOption = False,
) -> None:
    """Check every file of a case, and the evidence where it still is, against the hashes and row counts that were recorded.

    Exits with 4 when the case is damaged, with 3 when evidence has changed or cannot be read. Missing evidence is only reported. Evidence that you
    have not ingested yourself is read only below a folder that --evidence names.
    """
    from forensics.case import integrity
    from forensics.case.folder import open_case
    from forensics.report import text
    from forensics.report import verify as look

    opened = open_case(named or case, check=False, again=True)
    faults = opened.faults()
    if rebuild and ((faults and integrity.of_views(faults)) or (not faults and opened.moved_from)):
        wanting = api.Case(opened, engines.engine(engine, master=master, jobs=jobs))
        with progress() as step:
            wanting.compute_views(step)
        opened = wanting.folder
        faults = opened.faults()
    checked = look.evidence(opened, [*map(location, evidence or ())])
    text.render(look.compose(opened, faults, checked), pager=not no_pager)
    if opened.moved_from:
        say(f"The case was moved here from {opened.moved_from}, which its open.sql names. {_make_yours(named or case)}")
    if faults:
        raise integrity.error(location(named or case), faults)
    if any(c.state in look.WRONG for c in checked):
        raise typer.Exit(3)


@app.command(short_help="Copy logs without names and secrets, to be given away.")
def redact(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A file or folder of logs, as for ingest.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write; it must not exist, or be empty.")],
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", metavar="FILE", help="Write names and pseudonyms here, for yourself alone; if it is there, they are used again."),
    ] = None,
    keep_unrecognised: Annotated[
        bool,
        typer.Option(
            "--keep-unrecognised",
            help="Keep the text of records that no pattern knows, with every word replaced that is not Kafka's or plain English.",
        ),
    ] = False,
    layout: Annotated[list[str] | None, typer.Option("--layout", metavar="[GLOB=]PATTERN", help="As for ingest. Repeatable.")] = None,
    parsers: ParsersOption = None,
) -> None:
    """Write a copy of some logs in which hosts, addresses, groups, topics, connectors, client ids and users have other names, and secrets are gone.

    The same name becomes the same pseudonym everywhere, so the copy gives the same report. Read the copy before you give it away.

    Exits with 3 when some of the evidence could not be read, or nothing in it could be copied: then there is no copy.
    """
    from forensics.inventory.source_options import SourceOptions
    from forensics.redact.copying import redact as copied

    with progress() as step:
        summary = copied(
            location(source),
            target,
            mapping=mapping,
            keep_unrecognised=keep_unrecognised,
            options=SourceOptions.parse((), layout or ()),
            parsers=parsers or (),
            progress=step,
        )
    say_redacted(summary, target, mapping)
    if summary.faults:
        raise typer.Exit(3)


@app.command(short_help="Say which rows only one of two cases has.")
def compare(
    case_a: Annotated[Path, typer.Argument(metavar="CASE_A", help="A case folder.")],
    case_b: Annotated[Path, typer.Argument(metavar="CASE_B", help="Another one.")],
    view: Annotated[
        list[str] | None,
        typer.Option(
            "--view", metavar="NAME", autocompletion=_complete_query, help="Only this view. Repeatable; by default all that the cases keep."
        ),
    ] = None,
    facts: Annotated[bool, typer.Option("--facts", help="Compare facts alone: leave out the columns that hold sentences.")] = False,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=0, help="Print at most this many of the rows that only one case has.")] = 3,
    no_pager: NoPagerOption = False,
) -> None:
    """Compare the rows of two cases' views: what another version, other thresholds or more evidence changed. It needs no engine.

    Exits with 1 when a view differs. `event` and `snapshot` are made when they are read: a case keeps no rows of them to compare.
    """
    from forensics.case.folder import open_case
    from forensics.report import comparison, text

    a, b = open_case(case_a), open_case(case_b)
    found = list(comparison.compare(a, b, view or (), facts=facts, samples=rows))
    text.render(comparison.compose(a, b, found), pager=not no_pager)
    if not all(difference.same for difference in found):
        raise typer.Exit(1)


@app.command(short_help="Show the cache of cases, or clear it.")
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete all that the cache holds.")] = False,
) -> None:
    """Show where the cache of cases is, how many it holds and how large it is.

    `forensics report LOGS` keeps its cases there, standard input that it read, and copies of cases in S3. What was not used for 30 days is deleted, and
    what was used longest ago when all of it takes more than 512 MiB.
    """
    from forensics.case import cache
    from forensics.wording.formats import count

    if clear:
        number, freed = cache.tidy(everything=True)
        say(f"{count(number, 'entry', 'entries')} deleted, {freed / 1e6:,.1f} MB.")
    held = cache.kept()
    typer.echo(f"{cache.where()}")
    typer.echo(f"{count(len(held), 'entry', 'entries')}, {sum(one.size for one in held) / 1e6:,.1f} MB")
    if not clear:
        typer.echo(f"Deleted when not used for {cache.MOST_DAYS} days; the oldest when all takes more than {cache.MOST_BYTES >> 20} MiB.")


@app.command("offsets-topic", short_help="Say what dies with each broker of an internal topic; make the reassignment.")
def offsets_topic(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What kafka-topics --describe printed.")],
    brokers: Annotated[
        str, typer.Option("--brokers", metavar="LIST", help="All live brokers, 1,2,3 or 1:rackA,2:rackB; by default those that the file shows.")
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="ID", help="Show which partition and broker hold this group. Repeatable.")
    ] = None,
    topic: Annotated[str, typer.Option("--topic", metavar="NAME", help="Another internal topic.")] = "__consumer_offsets",
    factor: Annotated[int | None, typer.Option("--replication-factor", metavar="N", help="Make a reassignment to this many replicas.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the reassignment here.")] = None,
    kafka_version: Annotated[str, typer.Option("--kafka-version", metavar="VERSION", help="Kafka release for which commands are printed.")] = "4.0",
    throttle: Annotated[int, typer.Option("--throttle", metavar="BYTES", min=1024, help="Most bytes per second for copying.")] = 10_000_000,
    form: Annotated[AnswerFormat, typer.Option("--format", help="Form of the answer.")] = AnswerFormat.text,
    case: Annotated[
        Path | None, typer.Option("--case", envvar="FORENSICS_CASE", metavar="DIR", help="A case whose groups are looked up too.")
    ] = None,
) -> None:
    """Say which partitions and groups die with each broker, and make the reassignment that brings the topic to more replicas."""
    from forensics.report import offsets_topic as question

    if output is not None and factor is None:
        raise UsageError("There is no reassignment to write.", where="--output", fix="Add --replication-factor.")
    groups = list(group or ())
    if topic == question.OFFSETS and (case is not None or (CASE / "case.json").is_file()):
        from forensics.case.folder import open_case

        groups += question.groups_of_case(open_case(case or CASE).view_path)
    asked = question.Asked(
        topic, question.parse_brokers(brokers) if brokers else None, groups, factor, question.parse_release(kafka_version), throttle,
        str(output or "reassignment.json"),
    )  # fmt: skip
    found = question.answer(file, asked)
    if output is not None:
        try:
            with output_file(output) as written:
                question.write(found, written)
        except OSError as e:
            raise UsageError(f"The reassignment cannot be written to `{output}`.", why=e.strerror or str(e), where="--output") from e
    if form is AnswerFormat.json:
        import json

        typer.echo(json.dumps(question.to_json(found), indent=1))
        return
    from forensics.report import text

    text.render(question.compose(found, written=output is not None))


@app.command(short_help="Explain a pasted log line, and what it proves.")
def explain(
    line: Annotated[str, typer.Argument(help="A log line, quoted; or - to read lines from standard input.")],
    parsers: ParsersOption = None,
    no_pager: NoPagerOption = False,
) -> None:
    """Explain a pasted log line: which event it is, which releases print it, what it proves and what it does not, what to do. Exit code 1: the line is not known."""
    from forensics.catalogue import patterns
    from forensics.report import text
    from forensics.report.explain import explain as explained

    words = sys.stdin.buffer.read().decode("utf-8", "replace") if line == "-" else line
    result = explained(words, patterns.load(parsers or ()))
    text.render(result.document, pager=not no_pager)
    if not result.known:
        raise typer.Exit(1)


@app.command(short_help="Check pattern files, and rules with their words.")
def check(
    paths: Annotated[list[Path] | None, typer.Argument(help="Pattern files or folders of your own; the packaged ones are always checked.")] = None,
) -> None:
    """Check layouts and patterns (each matches its own examples with the stated values, and no counterexample) and rules (SQL and words fit)."""
    from forensics.case import view_files
    from forensics.catalogue import known_bugs, patterns, prefixes
    from forensics.records import kafka_words, layout_check, layouts
    from forensics.wording.check import check_rules, check_views
    from forensics.wording.files import rule_words

    rules = view_files.rule_queries()
    errors = [
        *layout_check.check(),
        *kafka_words.check_signs(),
        *prefixes.check(),
        *patterns.check(paths or ()),
        *check_rules(rules, frozenset(view_files.RULE_COLUMNS)),
        *check_views(view_files.worded_queries()),
        *known_bugs.check(rule_words()["known-bug"].codes),
    ]
    for error in errors:
        typer.echo(f"error: {error}\n", err=True)
    if errors:
        typer.echo(f"{len(errors)} errors.", err=True)
        raise typer.Exit(2)
    counts = f"{len(layouts.packaged().layouts)} layouts, {len(patterns.load(paths or ()).events)} patterns and {len(rules)} rules"
    typer.echo(f"{counts}, all sound.")


def main() -> None:
    """Runs the command line; turns errors into words and exit codes."""
    SHELL.reads = True
    _listen_for_interrupts()
    if sys.stdout is None:  # closed by who called (`>&-`)
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (until the process ends)
    try:
        # A character that the terminal's encoding lacks is shown as an escape, and so is half of one in a name.
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            app(prog_name="forensics")
        except SystemExit as e:
            if isinstance(e.__context__, KeyboardInterrupt) or e.code == _INTERRUPTED:
                _leave()
            if isinstance(e.__context__, BrokenPipeError):  # typer makes 1 of it, which means findings here
                raise e.__context__ from None
            raise
        finally:
            sys.stdout.flush()  # here, where a reader that has gone can be dealt with, not while Python shuts down
    except KeyboardInterrupt:
        _leave()
    except BrokenPipeError as e:
        if _is_of_spark(e):
            _fail(e)
        # The reader of our output has gone (`| head`). Without this, Python would complain once more while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as e:
        if os.environ.get("FORENSICS_DEBUG") and not isinstance(e, ForensicsError):
            raise
        _fail(e)


#: What a shell says of a command that Ctrl-C has ended; and how long such a command may take to put things in order.
_INTERRUPTED = 130
_ORDER_SECONDS = 0.6
_LEAVING = threading.Lock()
#: Standard error as it was when the command began: while a JVM starts, it leads nowhere.
_STDERR = [2]


def _listen_for_interrupts() -> None:
    """Have Ctrl-C end the command within a second, whatever it is doing: computing in a library, or waiting for an engine."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # ignored, as in the background of a script
    with suppress(OSError):  # closed by who called
        _STDERR.append(os.dup(2))
    heard, hears = os.pipe()
    os.set_blocking(hears, False)
    signal.set_wakeup_fd(hears, warn_on_full_buffer=False)

    def listen() -> None:
        while number := os.read(heard, 1):
            if number[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                time.sleep(_ORDER_SECONDS)
                _leave()

    threading.Thread(target=listen, daemon=True, name="forensics-interrupts").start()


def _leave() -> NoReturn:
    """End this process and those that it started, after Ctrl-C. A case or a copy is published in one step, so it is whole or as it was."""
    from forensics.engines.watchdog import end_children

    with _LEAVING:  # until the process has ended
        end_children()
        with suppress(OSError):
            os.write(_STDERR[-1], b"Interrupted: cases and files are as they were before, or complete.\n")
        os._exit(_INTERRUPTED)


def _fail(error: Exception) -> NoReturn:
    from forensics.failures import explained

    known = explained(error)
    say(f"error: {known}")
    sys.exit(known.exit_code)


def _is_of_spark(error: Exception) -> bool:
    """Whether a pipe broke to Spark's JVM, and not to the reader of our output."""
    return any("py4j" in frame.filename or "pyspark" in frame.filename for frame in traceback.extract_tb(error.__traceback__))
