"""The commands. Each calls one module and prints the result. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

import atexit
import io
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, tzinfo
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from forensics import __version__, api, engines, interrupts, scratch
from forensics.api import ReportFormat
from forensics.console import DEFAULT_CASE, case_option, output_file, progress, say, say_ingested, say_redacted
from forensics.errors import SHELL, CaseError, ForensicsError, UsageError
from forensics.evidence.objects import Location
from forensics.evidence.objects import place as location
from forensics.wording.formats import count, printable

if TYPE_CHECKING:
    from types import FrameType

    from forensics.case.folder import Case as CaseFolder
    from forensics.inventory.evidence import Evidence
    from forensics.report.document import Document

app = typer.Typer(
    name="forensics",
    help="Reconstruct Kafka group rebalances from logs: who owned what and when, whether anything had two owners, why, and which lines prove it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success; 1 findings that match --fail-on, a line unknown to `explain`, or a view that differs in `compare`; 2 usage error; 3 no Kafka logs found, or some evidence could not be read (`ingest`, `report`, `redact`, `verify`); 4 error.",
)


#: Maximum number of unread files that are named.
_SHOWN = 5
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
    """Output formats of rows."""

    table = "table"
    csv = "csv"
    json = "json"


class ExportFormat(StrEnum):
    """Other tools to which a case can be exported."""

    perfetto = "perfetto"
    timesketch = "timesketch"
    sqlite = "sqlite"


class Platform(StrEnum):
    """Platforms for which `collect` has a script."""

    bare = "bare"
    docker = "docker"
    kubernetes = "kubernetes"
    strimzi = "strimzi"
    cfk = "cfk"
    ecs = "ecs"


class AnswerFormat(StrEnum):
    """Output formats of a short answer."""

    text = "text"
    json = "json"


class ProofLines(StrEnum):
    """Number of lines shown of each proof."""

    telling = "telling"
    all = "all"


class FailOn(StrEnum):
    """Findings that make the exit code 1."""

    proved = "proved"
    any = "any"
    incomplete = "incomplete"
    never = "never"


@dataclass(frozen=True)
class Runs:
    """What runs queries: the engine, its master, and the number of cores on this machine (None: all)."""

    engine: str
    master: str
    jobs: int | None


def _complete_query(incomplete: str) -> list[str]:
    from forensics.report import query

    return [name for name in query.saved_queries("public", "rule") if name.startswith(incomplete)]


def _complete_rule(incomplete: str) -> list[str]:
    return [name for name in api.rule_ids() if name.startswith(incomplete)]


def _case_in(ctx: typer.Context) -> Path:
    """Return the case of a command line that the shell is completing."""
    return Path(ctx.params.get("case") or os.environ.get("FORENSICS_CASE") or CASE)


def _complete_group(ctx: typer.Context, incomplete: str) -> list[str]:
    from forensics.report import completion

    return [name for name in completion.groups(_case_in(ctx)) if name.startswith(incomplete)]


def _complete_resource(ctx: typer.Context, incomplete: str) -> list[str]:
    from forensics.report import completion

    return [name for name in completion.resources(_case_in(ctx)) if name.startswith(incomplete)]


def _complete_id(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    from forensics.report import completion

    return completion.ids(_case_in(ctx), incomplete)


def _cached(case: Path | None) -> Path | None:
    """Return the case that the user means: a folder, or one in the cache by its short name."""
    from forensics.case import cache

    return cache.named(case) if case is not None else None


CaseOption = Annotated[
    Path,
    typer.Option(
        "--case",
        envvar="FORENSICS_CASE",
        metavar="DIR",
        callback=_cached,
        help="Case folder, s3://BUCKET/PREFIX, or the short name of a case that `forensics report LOGS` made.",
    ),
]
EngineOption = Annotated[
    str,
    typer.Option("--engine", envvar="FORENSICS_ENGINE", metavar="NAME", help="Query engine: spark (default), or sail, which needs no Java."),
]
MasterOption = Annotated[str, typer.Option("--master", metavar="URL", help="URL of the Spark master (default: run on this machine).")]
JobsOption = Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="Number of cores to use on this machine (default: all).")]
ParsersOption = Annotated[
    list[Path] | None, typer.Option("--parsers", metavar="DIR", help="Folder with your own pattern files, added to the built-in ones. Repeatable.")
]
AssumeSkewOption = Annotated[
    int | None,
    typer.Option(
        "--assume-skew",
        metavar="MS",
        min=0,
        help="Assume that all clocks agree within MS milliseconds where the logs do not show their offsets. The case stores this assumption, and the report states it.",
    ),
]
TzOption = Annotated[
    str,
    typer.Option(
        "--tz",
        metavar="ZONE",
        help="Time zone of displayed times and of --since and --until, for example Europe/Berlin or +02:00 (default: UTC).",
    ),
]
ShowTzOption = Annotated[
    str,
    typer.Option(
        "--tz", metavar="ZONE", help="Time zone of displayed times and of an ID that is a time, for example Europe/Berlin or +02:00 (default: UTC)."
    ),
]
NoPagerOption = Annotated[
    bool,
    typer.Option("--no-pager", help="Do not use a pager ($FORENSICS_PAGER, else $PAGER, else less) for long output."),
]
EvidenceOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--evidence", metavar="DIR",
        help="Current location of the evidence: a folder, a file or s3://BUCKET/PREFIX. The evidence of a case from someone else is read only there. Repeatable.",
    ),
]  # fmt: skip
CASE = Path(DEFAULT_CASE)


def _written(text: str) -> str:
    """Return a path unchanged, but refuse an empty one, such as an unset variable: it would mean the current folder."""
    if not text.strip():
        raise typer.BadParameter("a path is empty; `.` is the current folder")
    return text


def _place(text: str) -> Path:
    return Path(_written(text))


def _zone(name: str) -> tzinfo:
    """Return the user's time zone."""
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
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    del version  # its callback has printed it
    SHELL.reads = True


@app.command(short_help="Read logs into a case.")
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            parser=_place,
            help="Log files, folders or archives (.gz, .zst, .zip, .tar and others, also nested), or s3://BUCKET/PREFIX.",
        ),
    ],
    case: CaseOption = CASE,
    time_zone: Annotated[
        list[str] | None,
        typer.Option(
            "--time-zone", metavar="[GLOB=]ZONE", help="Time zone of logs whose times have none: Europe/Berlin, +02:00, 'w2/*=+02:00'. Repeatable."
        ),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option("--layout", metavar="[GLOB=]PATTERN", help="PatternLayout (log4j, logback) of logs with a custom layout. Repeatable."),
    ] = None,
    host: Annotated[
        list[str] | None, typer.Option("--host", metavar="GLOB=NAME", help="Host that wrote the files matching GLOB. Repeatable.")
    ] = None,
    parsers: ParsersOption = None,
    keep_all: Annotated[
        bool,
        typer.Option(
            "--keep-all",
            help="Keep lines without facts (unused configurations, plugin lists, read-only REST requests) as rows of the view event. "
            "By default they are only counted, in the view counted_line. The verdicts are the same.",
        ),
    ] = False,
    assume_skew: AssumeSkewOption = None,
    no_views: Annotated[
        bool, typer.Option("--no-views", help="Do not build the views; the next report builds them and adds them to open.sql.")
    ] = False,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Read logs into a case folder. Run it again to add new logs: files whose content is already in the case are skipped.

    Example: forensics ingest /path/to/logs --case my-case

    Example: forensics ingest logs.tar.gz --time-zone 'w2/*=Europe/Berlin'
    """
    with progress(engines.quicker(engine, master=master)) as step:
        read = api.ingest(
            paths, case, time_zone=time_zone or (), layout=layout or (), host=host or (), parsers=parsers or (), keep_all=keep_all,
            assume_skew_ms=assume_skew, views=not no_views, engine=engine, master=master, jobs=jobs, progress=step, command_line=sys.argv,
        )  # fmt: skip
    say_ingested(read.summary, location(case), time_zone or ())
    if no_views and not read.summary.case.views():
        say(f"The case has no views; the next `forensics report --case {quote(str(location(case)))}` builds them.")
    if _nothing_in(read.summary.evidence, [*map(location, paths)]) or _nothing_of_kafka(read.summary.counts) or read.faults:
        raise typer.Exit(3)


@app.command(short_help="Show what happened, from a case or straight from logs.")
def report(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LOGS",
            parser=_written,
            help="Log files, folders, archives, s3://BUCKET/PREFIX, or - for standard input, to be read into a case first.",
        ),
    ] = None,
    case: Annotated[
        Path | None,
        typer.Option(
            "--case", metavar="DIR", callback=_cached, help="Case folder, or s3://BUCKET/PREFIX (default: $FORENSICS_CASE, else forensics-case)."
        ),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="TIME",
            help="From this time on: ISO 8601 (in --tz unless it has a time zone), a time of day on the case's day (07:52), or a duration before the last event (2h, 30m, 1d).",
        ),
    ] = "",
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="Up to this time, in the same formats as --since; a date includes the whole day.")
    ] = "",
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
        typer.Option("--format", help="Report format (default: by the extension of FILE: .html, .md, .json; else text)."),
    ] = None,
    proof: Annotated[
        ProofLines, typer.Option("--proof", help="Lines of each proof to show: the three most informative, or all. --rule always shows all.")
    ] = ProofLines.telling,
    full: Annotated[
        bool, typer.Option("--full", help="Print everything: proofs, findings, generations, clocks, and what the logs do not show.")
    ] = False,
    finding: Annotated[
        str, typer.Option("--finding", metavar="ID", autocompletion=_complete_id, help="Print one finding with every line of its proof.")
    ] = "",
    notes: Annotated[
        bool, typer.Option("--notes", help="Print the notes: settings worth checking, and normal events that look like trouble.")
    ] = False,
    oneline: Annotated[
        bool,
        typer.Option(
            "--oneline",
            help="Print one line for each incident, with tabs between severity, state, start, end, subject, cause, worst damage and ID.",
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the report to FILE instead of standard output.")
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            help="Exit with 1 if there are critical or warning findings: proved ones only, any, or never. Exit with 3 if nothing could be examined; with incomplete, also if logs are missing, end early or are damaged.",
        ),
    ] = FailOn.never,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the process whose log is standard input or a pipe, for example a pod.")
    ] = "",
    time_zone: Annotated[
        list[str] | None, typer.Option("--time-zone", metavar="[GLOB=]ZONE", help="Time zone of LOGS whose times have none, as for ingest.")
    ] = None,
    assume_skew: AssumeSkewOption = None,
    no_pager: NoPagerOption = False,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Show what happened, who was affected and what to do, on one screen; --full also prints proofs, generations, clocks and gaps.

    LOGS are first read into a case in the user's cache (--case DIR puts it elsewhere), so a second run on the same logs is quick.

    Example: forensics report /path/to/logs

    Example: forensics report --case my-case --since 07:50 -o report.html
    """
    # Report an invalid name before reading logs.
    form = form or _form_of(output)
    api.check_rules(rule or ())
    runs = Runs(engine, master, jobs)
    if logs:
        case = _case_of(logs, case, time_zone or (), assume_skew, runs, name)
    elif time_zone:
        raise UsageError("--time-zone applies only to LOGS.", where="--time-zone", fix="For a case, pass the zones to `forensics ingest`.")
    case = case or Path(os.environ.get("FORENSICS_CASE") or CASE)
    option = case_option(location(case))
    reported = _opened(case, runs, assume_skew).report(since=since, until=until, groups=group or (), rules=rule or (), tz=tz)
    reported = replace(reported, option=option)
    if oneline:
        typer.echo(reported.oneline)
    elif notes or finding:
        _print(reported.finding(finding) if finding else reported.notes(), pager=False)
    else:
        _write(reported, form, output, full=full or bool(rule), all_lines=proof is ProofLines.all, pager=not no_pager)
    if logs:
        say(f"The case is in {location(case)}.")
    from forensics.report import exit_codes
    from forensics.report.examined import nothing_examined

    if exit_codes.is_reached(reported.model, fail_on):
        raise typer.Exit(1)
    if fail_on is not FailOn.never and nothing_examined(reported.model):
        say("Split brain could not be examined; the report says why. With --fail-on, this counts as evidence that could not be read.")
        raise typer.Exit(3)
    if fail_on is FailOn.incomplete and (limits := reported.limits):
        say(f"Evidence is incomplete: {printable(limits)}.")
        raise typer.Exit(3)
    if _is_incomplete(reported, said=bool(logs) and output is None):
        raise typer.Exit(3)


def _is_incomplete(reported: api.Report, *, said: bool) -> bool:
    """Return True if the case has no Kafka logs, or some of its evidence could not be read; then print which, unless reading the logs has said so."""
    from forensics.report.examined import EXPECTED, is_without_kafka, why_not_examined
    from forensics.report.missing_evidence import unread_files

    model = reported.model
    unread = unread_files(model)
    for file in unread[: 0 if said else _SHOWN]:
        say(
            f"{printable(file['path'])} could not be read{' completely' * (file['status'] == 'read')}: {printable(file['note'] or 'no reason recorded')}"
        )
    if len(unread) > _SHOWN and not said:
        say(f"{len(unread) - _SHOWN:,} more could not be read: forensics sql source_file{reported.option}")
    if is_without_kafka(model) and not (said and not model.examined["files"]):
        say(f"No Kafka logs were found. {printable(why_not_examined(model))}\n  expected: {EXPECTED}")
    return bool(unread) or is_without_kafka(model)


def _form_of(output: Path | None) -> ReportFormat:
    """Return the format of a report by its file extension; text if there is no file or extension.

    Raises:
        UsageError: the extension is unknown.
    """
    ending = output.suffix.lower() if output else ""
    if ending not in _SUFFIXES:
        known = ", ".join(e for e in _SUFFIXES if e)
        raise UsageError(f"Unknown report extension `{ending}`.", where="--output", fix=f"Use one of {known}, or set the format with --format.")
    return _SUFFIXES[ending]


def _case_of(logs: Sequence[str], case: Path | None, zones: Sequence[str], assume_skew: int | None, runs: Runs, name: str) -> Path:
    """Return the case of some logs, created if needed.

    Args:
        logs: paths, or `-` for standard input.
        case: the user's case folder; None: a folder in the cache.
        zones: time zones, as for `ingest`.
        assume_skew: the clock skew that the user assumes, milliseconds.
        runs: what runs queries.
        name: the process whose log is standard input or a pipe; empty: unknown.
    """
    from forensics.case import cache
    from forensics.catalogue import patterns

    if name and not any(path == "-" or Path(path).is_fifo() for path in logs):
        raise UsageError("--name names only standard input or a pipe.", where="--name", fix="Files have the names of their folders and their own.")
    process = name or "input"
    paths = [
        cache.kept_input(sys.stdin.buffer, process=process) if path == "-" else cache.kept_pipe(path, process) or location(path) for path in logs
    ]
    thresholds = sorted((api.thresholds(assume_skew) or {}).items())
    place = case or cache.case_folder(paths, [__version__, patterns.digest(), *zones, *(f"{name}={value}" for name, value in thresholds)])
    if case is None and (place / "case.json").is_file():
        from forensics.case.folder import open_case

        _nothing_in(open_case(place).evidence(), paths)
        return place
    with progress(engines.quicker(runs.engine, master=runs.master)) as step:
        read = api.ingest(
            [str(path) for path in paths],
            place,
            time_zone=zones,
            assume_skew_ms=assume_skew,
            **asdict(runs),
            progress=step,
            command_line=sys.argv,
        )
    say_ingested(read.summary, place, zones)
    if case is None:
        cache.tidy()
    _nothing_in(read.summary.evidence, paths)
    return place


def _nothing_in(evidence: Sequence[Evidence], paths: Sequence[Location]) -> bool:
    """Return True if a case has no logs; then print this, and the number of other files."""
    if any(e.status in ("read", "unreadable") for e in evidence):
        return False
    others = sum(e.status == "skipped" for e in evidence)
    names = ", ".join(f"`{path}`" for path in paths[:3]) + ", …" * (len(paths) > 3)
    files = "1 other file is" if others == 1 else f"{others:,} other files are"
    say(f"No log was found in {names}: " + (f"{files} there." if others else "there are no files."))
    return True


def _nothing_of_kafka(counts: Mapping[str, int]) -> bool:
    """Return True if a case has lines, but no record of Kafka; then print what was expected."""
    if not counts.get("lines") or any(counts.get(kind) for kind in ("events", "counted", "unrecognised")):
        return False
    from forensics.report.examined import EXPECTED

    say(f"No Kafka logs were found.\n  expected: {EXPECTED}")
    return True


def _opened(path: Path, runs: Runs, assume_skew: int | None = None) -> api.Case:
    """Open a case; first build its views if there are none or if they have other thresholds."""
    from forensics.case.views import OLDER

    case = api.open_case(path, **asdict(runs), assume_skew_ms=assume_skew)
    _say_notice(case.notice(str(location(path))))
    if case.moved_from:
        say(f"The case was moved here from {case.moved_from}. It is opened read-only, and its open.sql still names that path. {_make_yours(path)}")
    if case.outdated == OLDER:
        say("The case's views were built by another version of this program and are being rebuilt.")
    if case.outdated and not case.needs_no_views:
        with progress(engines.quicker(runs.engine, master=runs.master)) as step:
            case.prepare(step)
    return case


def _read(path: Path) -> CaseFolder:
    """Open a case to read its stored rows."""
    from forensics.case.folder import open_case
    from forensics.report.verify import notice

    opened = open_case(path)
    _say_notice(notice(opened, str(location(path))))
    return opened


def _say_notice(line: str) -> None:
    """Print whose case it is, if that is not known yet; nothing if the line is empty."""
    if line:
        say(line)


def _make_yours(case: Path) -> str:
    """Return a hint for a moved case."""
    return f"`forensics verify {quote(str(location(case)))} --rebuild` makes it yours."


def _print(document: Document, *, pager: bool) -> None:
    from forensics.report import text

    text.render(document, pager=pager)


def _write(report: api.Report, form: ReportFormat, output: Path | None, *, full: bool, all_lines: bool, pager: bool) -> None:
    """Write a report to a file or to standard output; only the full report can be longer than the screen."""
    full = full or all_lines
    if form is ReportFormat.text and output is None:
        _print(report.document(full=full, all_lines=all_lines), pager=pager and full)
        return
    written = report.render(form, full=full, all_lines=all_lines)
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


@app.command(short_help="Draw who owned what, and when, in the terminal.")
def timeline(
    group: Annotated[str, typer.Argument(metavar="[GROUP]", autocompletion=_complete_group, help="Only this group (default: all).")] = "",
    resource: Annotated[
        list[str] | None,
        typer.Option("--resource", metavar="NAME", autocompletion=_complete_resource, help="Only this task, connector or partition. Repeatable."),
    ] = None,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="Draw from this time on, in the same formats as for report.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Draw up to this time, in the same formats as for report.")] = "",
    tz: TzOption = "",
    no_pager: NoPagerOption = False,
    case: CaseOption = CASE,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Draw who owned what, and when: a row per resource, a lane per owner, simultaneous owners, and the generations on top.

    Example: forensics timeline connect-cluster --since 07:51 --until 07:53

    Example: forensics timeline --resource lab-source-a-0 --case my-case
    """
    from forensics.report import screen, text
    from forensics.report import timeline as drawn
    from forensics.report.page import case_rows

    try:
        reported = _opened(case, Runs(engine, master, jobs)).report(since=since, until=until, groups=[group] if group else (), tz=tz)
    except UsageError as e:
        raise UsageError(e.what, why=e.why, where="GROUP" if e.where == "--group" else e.where, fix=e.fix) from e
    text.render(drawn.compose(reported.model, screen.width(), resource or (), case_rows.of_causes(reported.case)), pager=not no_pager)


@app.command(short_help="Export a case to Perfetto, Timesketch or SQLite.")
def export(
    to: Annotated[
        ExportFormat, typer.Option("--to", help="perfetto: a trace for ui.perfetto.dev; timesketch: JSON lines; sqlite: each view as a table.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Output file; - means standard output.")],
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="Export from this time on, in the same formats as for report.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Export up to this time, in the same formats as for report.")] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="ID", autocompletion=_complete_group, help="Only this group. Repeatable.")
    ] = None,
    case: CaseOption = CASE,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Export a case to another tool.

    Perfetto shows a track for each owner of a task or partition, together with overlaps and rebalances. Timesketch gets every event, finding and overlap.
    Both have all times on the reference clock. SQLite gets all views of the case, each as a table with the same name.

    Example: forensics export --to perfetto -o trace.json --case my-case

    Example: forensics export --to timesketch -o - --since 07:50 > events.jsonl

    Example: forensics export --to sqlite -o case.db --case my-case
    """
    from forensics.share import perfetto, timesketch

    if to is ExportFormat.sqlite:
        _export_tables(_opened(case, Runs(engine, master, jobs)), output, filtered=bool(since or until or group))
        return
    reported = _opened(case, Runs(engine, master, jobs)).report(since=since, until=until, groups=group or ())
    try:
        with open(1, "w", encoding="utf-8", closefd=False) if str(output) == "-" else output_file(output) as file:
            written = perfetto.write(reported.model, file) if to is ExportFormat.perfetto else timesketch.write(reported.case, reported.model, file)
    except BrokenPipeError:
        raise
    except OSError as e:
        raise UsageError(f"The export cannot be written to `{output}`.", why=e.strerror or str(e), where="--output") from e
    if str(output) != "-":
        say(f"{written:,} {'slices' if to is ExportFormat.perfetto else 'lines'} written to {output}.")


def _export_tables(opened: api.Case, output: Path, *, filtered: bool) -> None:
    """Write all views of a case into a SQLite file.

    Raises:
        UsageError: there is a filter, or the file cannot be written.
    """
    from forensics.report import query
    from forensics.share import sqlite

    if filtered:
        raise UsageError("`export --to sqlite` writes whole views.", where="--since, --until, --group", fix="Select rows in SQLite.")
    if str(output) == "-" or output.is_dir():
        raise UsageError("`export --to sqlite` needs the name of a file.", where="--output", fix="For example -o case.db.")
    names = sorted(query.saved_queries("public"))
    try:
        written = sqlite.write(((name, opened.view(name)) for name in names), output.resolve())
    except OSError as e:
        raise UsageError(f"The export cannot be written to `{output}`.", why=e.strerror or str(e), where="--output") from e
    say(f"{len(names)} tables with {written:,} rows written to {output}.")


@app.command(short_help="Print the rows of a view, a rule or your own SQL.")
def sql(
    name: Annotated[str, typer.Argument(metavar="[NAME]", autocompletion=_complete_query, help="A view or a rule; see --list.")] = "",
    expression: Annotated[str, typer.Option("-e", metavar="TEXT", help="SQL to run on the case's views.")] = "",
    file: Annotated[Path | None, typer.Option("-f", metavar="FILE", help="Read the SQL from a file.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the views and rules with the meaning of their rows.")] = False,
    columns: Annotated[list[str] | None, typer.Option("--columns", metavar="A,B", help="Only these columns, in this order. Repeatable.")] = None,
    form: Annotated[RowFormat, typer.Option("--format", help="Output format of the rows.")] = RowFormat.table,
    unrestricted: Annotated[
        bool,
        typer.Option(
            "--unrestricted", help="Run your own SQL as it is: it can then read and write every file that you can, and on Spark run programs."
        ),
    ] = False,
    no_pager: NoPagerOption = False,
    case: CaseOption = CASE,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
) -> None:
    """Print the rows of a view, a rule or your own SQL. With several statements, the rows of the last one are printed.

    SQL only reads the case: queries (SELECT, VALUES, WITH), SHOW, DESCRIBE, EXPLAIN, temporary views and variables, with functions that only compute.
    It can neither read other files (csv.`/path`), nor write any, nor run programs. Anything else is refused before an engine starts.

    Example: forensics sql split_brain --case my-case

    Example: forensics sql -e "SELECT * FROM finding WHERE severity = 'critical'"
    """
    from forensics.report import query, screen

    if listed:
        with screen.output(pager=not no_pager) as out:
            query.print_list(out, screen.width() if screen.is_terminal() else screen.requested_width())
        return
    if sum(map(bool, (name, expression, file))) != 1:
        raise UsageError("Give exactly one of NAME, -e TEXT and -f FILE.", fix="`forensics sql --list` lists the views and rules.")
    view = query.saved(name) if name else None
    statements = [query.Statement(f"SELECT * FROM `{view.name}`")] if view else query.own(expression, file, unrestricted=unrestricted)
    if unrestricted and not view:
        say(f"The SQL runs unrestricted: {query.UNRESTRICTED}.")
    opened = _opened(case, Runs(engine, master, jobs))
    wanted = query.Wanted(
        form,
        [name for part in columns or () for name in part.replace(",", " ").split()],
        screen.width() if screen.is_terminal() else screen.requested_width(),
    )
    # Only a table is short; the other formats are streamed.
    with screen.output(pager=form is RowFormat.table and not no_pager) as out:
        if (rows := query.stored(opened.folder, view, statements)) is not None:
            left = query.print_rows(rows, wanted, out)
        else:
            left = query.run(opened.engine, opened.folder, statements, wanted, out)
    if left:
        say(f"{count(left, 'more row')}; --format csv or --format json prints all rows.")


@app.command(short_help="Print the log lines behind an ID.")
def show(
    wanted: Annotated[
        str,
        typer.Argument(metavar="ID", autocompletion=_complete_id, help="ID of an event, finding or period of ownership, or its first characters."),
    ],
    context: Annotated[
        int, typer.Option("--context", "-C", metavar="N", min=0, max=1000, help="Number of lines to print before and after each line.")
    ] = 2,
    merge: Annotated[
        bool,
        typer.Option(
            "--merge",
            help="Merge the lines of all processes by the reference clock. Implied if ID is a time (07:52:24) or a generation (GROUP:13).",
        ),
    ] = False,
    tz: ShowTzOption = "",
    evidence: EvidenceOption = None,
    no_pager: NoPagerOption = False,
    case: CaseOption = CASE,
) -> None:
    """Print the log lines behind an event, a finding or a period of ownership, with context, as they are in the evidence.

    Example: forensics show 37d6f39c2571 --case my-case

    Example: forensics show 07:52:24 -C 10
    """
    from forensics.report import text
    from forensics.report.show import is_time_or_generation
    from forensics.report.show import show as shown

    if merge or is_time_or_generation(wanted):
        from forensics.report.merged import show as merged

        text.render(merged(_read(case), wanted, context, _zone(tz)), pager=not no_pager)
        return
    text.render(shown(_read(case), wanted, context, _zone(tz), [*map(location, evidence or ())]), pager=not no_pager)


@app.command(short_help="Check that a case and its evidence are unchanged.")
def verify(
    named: Annotated[Path | None, typer.Argument(metavar="CASE", help="Case folder; same as --case.")] = None,
    case: CaseOption = CASE,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Rebuild damaged views from the case's tables if those are intact. For a moved case, update open.sql to its current path.",
        ),
    ] = False,
    derive: Annotated[
        bool,
        typer.Option(
            "--derive",
            help="Read the evidence again, derive all rows on this machine with this version, and compare them with those of the case. With --rebuild, "
            "a case without differences gets your seal.",
        ),
    ] = False,
    evidence: EvidenceOption = None,
    parsers: ParsersOption = None,
    engine: EngineOption = "",
    master: MasterOption = "",
    jobs: JobsOption = None,
    no_pager: NoPagerOption = False,
) -> None:
    """Check every file of a case, and its evidence if still available, against the recorded hashes and row counts.

    Matching hashes rule out accidental damage, and changes by anyone who did not renew the hashes. Your seal, which the commands of this user give to the
    cases that they create, also rules out changes by anyone without your key. Only --derive shows whether the creator of another case was honest.

    The exit code is 4 if the case is damaged, does not match your seal, or differs from what --derive gives, and 3 if evidence has changed or cannot be read. Missing
    evidence changes the exit code only with --derive. Evidence that you have not ingested yourself is read only below a folder given with --evidence.

    Example: forensics verify my-case

    Example: forensics verify my-case --evidence /path/to/logs

    Example: forensics verify case-from-someone --evidence /path/to/logs --derive
    """
    from forensics.case import folder, integrity, seals
    from forensics.report import derivation, text
    from forensics.report import verify as look

    if derive and master:
        raise UsageError("--derive works on this machine alone.", where="--master", fix="Leave out --master.")
    called, folders = location(named or case), [*map(location, evidence or ())]
    opened = folder.open_case(named or case, check=False, again=True)
    faults = opened.faults()
    # Views that are computed anew would hide what --derive looks for.
    if rebuild and ((faults and integrity.of_views(faults)) or (not faults and opened.moved_from and not derive)):
        wanting = api.Case(opened, engines.engine(engine, master=master, jobs=jobs))
        with progress() as step:
            wanting.compute_views(step)
        opened = wanting.folder
        faults = opened.faults()
    checked = look.evidence(opened, folders)
    derived = None
    if derive and not faults:
        with progress() as step:
            derived = derivation.derive(
                opened, checked, engines.engine(engine, jobs=jobs), folders=folders, parsers=parsers or (), jobs=jobs, progress=step
            )
    if rebuild and derived and derived.is_same and opened.seal not in (seals.OWN, seals.CHANGED):
        opened = folder.sealed(opened)
    text.render(look.compose(opened, faults, checked, derivation.section(derived) if derived else None), pager=not no_pager)
    seals.is_first_look(opened.manifest)
    if opened.moved_from:
        say(f"The case was moved here from {opened.moved_from}; its open.sql still names that path. {_make_yours(named or case)}")
    if faults:
        raise integrity.error(called, faults)
    if opened.seal == seals.CHANGED:
        raise CaseError(
            f"The case in `{called}` was changed after you sealed it.", why="its hashes match its files, but not your seal", where=str(called),
            fix="Ingest the logs again, into a new folder. `--evidence DIR --derive` shows which rows differ from what the logs give.",
        )  # fmt: skip
    if derived and derived.differing:
        raise CaseError(
            f"The case in `{called}` differs from what its evidence gives.", why=", ".join(d.view for d in derived.differing[:_SHOWN]), where=str(called),
            fix=derived.version or "Do not rely on it: ingest the logs into a case of your own.",
        )  # fmt: skip
    if any(c.state in look.WRONG for c in checked) or (derived and derived.missing):
        raise typer.Exit(3)


@app.command(short_help="Write an anonymised copy of logs that is safe to share.")
def redact(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Log file, folder or archive, as for ingest.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Output folder; it must be empty or not exist.")],
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping", metavar="FILE", help="File of names and their pseudonyms; keep it private. If it exists, its pseudonyms are used again."
        ),
    ] = None,
    keep_unrecognised: Annotated[
        bool,
        typer.Option(
            "--keep-unrecognised",
            help="Keep the text of unrecognised records, but replace every word that is neither Kafka's nor plain English.",
        ),
    ] = False,
    layout: Annotated[list[str] | None, typer.Option("--layout", metavar="[GLOB=]PATTERN", help="As for ingest. Repeatable.")] = None,
    parsers: ParsersOption = None,
) -> None:
    """Write a copy of logs with pseudonyms for hosts, addresses, groups, topics, connectors, client IDs and users, and without secrets.

    A name has the same pseudonym everywhere, so the copy gives the same report. Read the copy before you share it.

    The exit code is 3 if some evidence could not be read, or if nothing could be copied; in the latter case no copy is written.

    Example: forensics redact /path/to/logs shared-logs

    Example: forensics redact logs.zip shared-logs --mapping names.json
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


@app.command(short_help="Show the rows that differ between two cases.")
def compare(
    case_a: Annotated[Path, typer.Argument(metavar="CASE_A", help="First case folder.")],
    case_b: Annotated[Path, typer.Argument(metavar="CASE_B", help="Second case folder.")],
    view: Annotated[
        list[str] | None,
        typer.Option("--view", metavar="NAME", autocompletion=_complete_query, help="Only this view (default: all stored views). Repeatable."),
    ] = None,
    facts: Annotated[bool, typer.Option("--facts", help="Compare only facts, not columns that contain sentences.")] = False,
    rows: Annotated[int, typer.Option("--rows", metavar="N", min=0, help="Maximum number of differing rows to print per view.")] = 3,
    no_pager: NoPagerOption = False,
) -> None:
    """Compare the views of two cases, for example after an upgrade, a change of thresholds or more evidence. This needs no engine.

    The exit code is 1 if a view differs. The views `event` and `snapshot` are computed on each read, so a case has no stored rows of them to compare.

    Example: forensics compare case-before case-after --view finding
    """
    from forensics.report import comparison, text

    a, b = _read(case_a), _read(case_b)
    found = list(comparison.compare(a, b, view or (), facts=facts, samples=rows))
    text.render(comparison.compose(a, b, found), pager=not no_pager)
    if not all(difference.same for difference in found):
        raise typer.Exit(1)


@app.command(short_help="Show or clear the case cache.")
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete everything in the cache.")] = False,
) -> None:
    """Show the path, the number of entries and the size of the case cache.

    The cache contains the cases of `forensics report LOGS`, saved standard input, and copies of cases in S3. Entries unused for 30 days are deleted. If
    the cache exceeds 512 MiB, the least recently used entries are deleted.

    Example: forensics cache

    Example: forensics cache --clear
    """
    from forensics.case import cache

    if clear:
        number, freed = cache.tidy(everything=True)
        say(f"{count(number, 'entry', 'entries')} deleted, {freed / 1e6:,.1f} MB.")
    held = cache.kept()
    typer.echo(f"{cache.where()}")
    typer.echo(f"{count(len(held), 'entry', 'entries')}, {sum(one.size for one in held) / 1e6:,.1f} MB")
    if not clear:
        typer.echo(f"Entries unused for {cache.MAX_DAYS} days are deleted, then the least recently used ones above {cache.MAX_BYTES >> 20} MiB.")


@app.command("offsets-topic", short_help="Show what each broker failure would break; write a reassignment.")
def offsets_topic(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output of kafka-topics --describe.")],
    brokers: Annotated[
        str, typer.Option("--brokers", metavar="LIST", help="All live brokers: 1,2,3 or 1:rackA,2:rackB (default: the brokers in the file).")
    ] = "",
    group: Annotated[
        list[str] | None, typer.Option("--group", metavar="ID", help="Show the partition and brokers of this group. Repeatable.")
    ] = None,
    topic: Annotated[str, typer.Option("--topic", metavar="NAME", help="Name of the internal topic.")] = "__consumer_offsets",
    factor: Annotated[int | None, typer.Option("--replication-factor", metavar="N", help="Generate a reassignment to N replicas.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the reassignment to FILE.")] = None,
    kafka_version: Annotated[str, typer.Option("--kafka-version", metavar="VERSION", help="Kafka release to print commands for.")] = "4.0",
    throttle: Annotated[
        int, typer.Option("--throttle", metavar="BYTES", min=1024, help="Maximum replication traffic, bytes per second.")
    ] = 10_000_000,
    form: Annotated[AnswerFormat, typer.Option("--format", help="Output format.")] = AnswerFormat.text,
    case: Annotated[Path | None, typer.Option("--case", envvar="FORENSICS_CASE", metavar="DIR", help="Also show the groups of this case.")] = None,
) -> None:
    """Show which partitions and groups each broker failure would make unavailable, and generate a reassignment to more replicas.

    Example: forensics offsets-topic topics.txt --group connect-cluster

    Example: forensics offsets-topic topics.txt --replication-factor 3
    """
    from forensics.report import offsets_topic as question

    if output is not None and factor is None:
        raise UsageError("--output needs a reassignment to write.", where="--output", fix="Add --replication-factor.")
    groups = list(group or ())
    if topic == question.OFFSETS and (case is not None or (CASE / "case.json").is_file()):
        groups += question.groups_of_case(_read(case or CASE).view_path)
    request = question.Request(
        topic, question.parse_brokers(brokers) if brokers else None, groups, factor, question.parse_release(kafka_version), throttle,
        str(output or "reassignment.json"),
    )  # fmt: skip
    found = question.answer(file, request)
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


@app.command(short_help="Print a script that collects logs and other evidence on a platform.")
def collect(
    platform: Annotated[Platform, typer.Option("--print", metavar="PLATFORM", help="bare, docker, kubernetes, strimzi, cfk or ecs.")],
) -> None:
    """Print a script that collects logs, and what the machine and the platform say about their processes, into one archive for `ingest`.

    This command runs nothing, and the script changes nothing. Read it before you run it where the logs are. The manifest in its archive lists what was requested, received and refused.

    Example: forensics collect --print kubernetes > collect.sh; NAMESPACE=kafka sh collect.sh
    """
    from forensics.report.collection import script

    typer.echo(script(platform.value), nl=False)


@app.command(short_help="Serve a case to AI agents (MCP).")
def mcp(
    case: CaseOption = CASE,
    http: Annotated[
        str, typer.Option("--http", metavar="PORT", help="Serve streamable HTTP on this port of 127.0.0.1 (0: any free one) instead of stdio.")
    ] = "",
    engine: Annotated[
        str,
        typer.Option(
            "--engine", envvar="FORENSICS_ENGINE", metavar="NAME", help="Query engine for the tool `sql`: sail (default, if installed) or spark."
        ),
    ] = "",
    jobs: JobsOption = None,
) -> None:
    """Serve a case to AI agents as a Model Context Protocol server with read-only tools: brief, findings, timeline, lines, sql, explain.

    Agents start this command themselves and talk to it over standard input and output.

    Example: forensics mcp --case my-case

    Example: forensics mcp --case my-case --http 8000
    """
    try:
        from forensics.agents import server
    except ModuleNotFoundError as e:
        if (e.name or "").startswith("forensics"):
            raise
        fix = "Run `pip install '.[mcp]'` in the clone."
        raise ForensicsError("The MCP server's packages are not installed.", why=str(e), fix=fix) from e
    if not http:
        # Without a client, nothing would happen. Ctrl-C ends the server, which cannot be interrupted while it reads.
        if sys.stdin.isatty():
            say("Waiting for an MCP client on standard input. Agents start this command themselves; see docs/agents.md.")
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, lambda *_: _leave())
    server.serve(server.Tools(case, engine, jobs), http, lambda url: say(f"Serving {location(case)} at {url}; Ctrl-C ends it."))


class _LineCommand(TyperCommand):
    """A command whose argument may begin with dashes, as the lines of journald do: `-- Boot 3f2c --`. No option contains a blank."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  (typer has its own copy of click)
        """Parse the arguments, after marking a line as no option."""
        lines = [n for n, arg in enumerate(args) if arg.startswith("-") and len(arg.split()) > 1 and not arg.split()[0].count("=")]
        if lines and "--" not in args:
            args = [*(arg for n, arg in enumerate(args) if n not in lines), "--", *(args[n] for n in lines)]
        return super().parse_args(ctx, args)


@app.command(short_help="Explain a log line and what it proves.", cls=_LineCommand)
def explain(
    line: Annotated[str, typer.Argument(metavar="LINE", help="A quoted log line, - to read standard input, or the ID of a rule.")],
    parsers: ParsersOption = None,
    no_pager: NoPagerOption = False,
) -> None:
    """Explain a log line: its event, the releases that log it, what it proves, what it does not prove, and what to do.

    For a rule, print what it needs, when it does not fire, and when it can be wrong.

    The exit code is 1 if the line is unknown.

    Example: kubectl logs connect-0 | tail -1 | forensics explain -
    """
    from forensics.catalogue import patterns
    from forensics.report import text
    from forensics.report.explain import explain as explained

    words = sys.stdin.buffer.read().decode("utf-8", "replace") if line == "-" else line
    result = explained(words, patterns.load(parsers or ()))
    text.render(result.document, pager=not no_pager)
    if not result.known:
        raise typer.Exit(1)


@app.command(short_help="Check pattern files and rules.")
def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Your own pattern files or folders; the built-in ones are always checked.")
    ] = None,
) -> None:
    """Check layouts, patterns and rules: each pattern must match its examples and no counterexample, and the sentences of a rule must fit its SQL.

    Example: forensics check my-patterns
    """
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
        *check_views(view_files.worded_views()),
        *known_bugs.check(rule_words()["known-bug"].codes),
    ]
    for error in errors:
        say(f"error: {error}\n")
    if errors:
        typer.echo(f"{count(len(errors), 'error')}.", err=True)
        raise typer.Exit(2)
    counts = f"{len(layouts.packaged().layouts)} layouts, {len(patterns.load(paths or ()).events)} patterns and {len(rules)} rules"
    typer.echo(f"{counts}, all sound.")


def main() -> None:
    """Run the command line, and convert errors to messages and exit codes."""
    SHELL.reads = True
    _listen_for_interrupts()
    if sys.stdout is None:  # closed by the caller (`>&-`)
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (until the process ends)
    try:
        # A character that the terminal's encoding lacks, or a lone surrogate in a name, is shown as an escape.
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        scratch.sweep()
        try:
            code = app(prog_name="forensics", standalone_mode=False)
            if code == _INTERRUPTED:
                _leave()
            sys.exit(code)
        except SystemExit as e:
            if isinstance(e.__context__, BrokenPipeError):  # typer would exit with 1, which means findings here
                raise e.__context__ from None
            raise
        except Exception as e:
            if isinstance(e.__context__, KeyboardInterrupt):
                _leave()
            if type(e).__name__ == "NoArgsIsHelpError":
                say(str(e))
                sys.exit(UsageError.exit_code)
            raise _in_words(e) from None
        finally:
            sys.stdout.flush()  # here, where a broken pipe can be handled, and not while Python shuts down
    except KeyboardInterrupt:
        _leave()
    except BrokenPipeError as e:
        if _is_of_spark(e):
            _fail(e)
        # The reader of our output has exited (`| head`). Without this, Python would report another error while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as e:
        if os.environ.get("FORENSICS_DEBUG") and not isinstance(e, ForensicsError):
            raise
        _fail(e)


#: The exit code that a shell expects after Ctrl-C, and the seconds that a command has for cleaning up.
_INTERRUPTED = 130
#: Ctrl-C signals that were received: an engine that one of them ended first is not a separate error.
_SIGNALS: list[bytes] = []
_ORDER_SECONDS = 0.6
_LEAVING = threading.Lock()
#: Standard error of the command; while a JVM starts, descriptor 2 is redirected to nothing.
_STDERR = [2]


def _listen_for_interrupts() -> None:
    """Make Ctrl-C end the command within a second, even while it computes in a library or waits for an engine."""
    # Registered first, so it runs last: the command has done its work then, and Python would let Ctrl-C end it as if it had not.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # closed by the caller
        _STDERR.append(os.dup(2))
    received, notify = os.pipe()
    os.set_blocking(notify, False)
    signal.set_wakeup_fd(notify, warn_on_full_buffer=False)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if interrupts.is_meant():
            signal.default_int_handler(number, frame)

    def listen() -> None:
        while number := os.read(received, 1):
            if number[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) is interrupt and interrupts.is_meant():
                _SIGNALS.append(number)
                logging.disable(logging.CRITICAL)  # py4j logs a traceback for the query that this ends
                time.sleep(_ORDER_SECONDS)
                _leave()

    threading.Thread(target=listen, daemon=True, name="forensics-interrupts").start()
    signal.signal(signal.SIGINT, interrupt)
    others = sys.unraisablehook
    # Python prints a traceback if a destructor is interrupted.
    sys.unraisablehook = lambda u: None if u.exc_type is KeyboardInterrupt else others(u)


def _leave() -> NoReturn:
    """End this process and its children after Ctrl-C. Cases and copies are published atomically, so they are complete or unchanged."""
    from forensics.engines.watchdog import end_children
    from forensics.scratch import remove_unfinished

    with _LEAVING:  # until the process has ended
        end_children()
        remove_unfinished()
        with suppress(OSError):
            begin = b"\n" * os.isatty(_STDERR[-1])  # after the ^C
            os.write(_STDERR[-1], begin + b"Interrupted: each case and file is as it was before, or complete. Run the command again to finish.\n")
        os._exit(_INTERRUPTED)


def _fail(error: Exception) -> NoReturn:
    from forensics.failures import explained

    if _SIGNALS:
        _leave()
    known = explained(error)
    say(f"error: {known}")
    sys.exit(known.exit_code)


def _in_words(error: Exception) -> Exception:
    """Return an error of the command line itself (an unknown command or option, a missing value) as one of this program, and any other as it is."""
    message = getattr(error, "format_message", None)
    if message is None:
        return error
    context = getattr(error, "ctx", None)
    if context is None:
        fix = "`forensics -h` lists the commands, and `forensics COMMAND -h` the options of one."
    else:
        fix = f"`{context.command_path} -h` lists the {'commands' if context.parent is None else 'options'}."
    what = " ".join(message().replace("Value error, ", "").split())
    return UsageError(what if what.endswith((".", "?")) else f"{what}.", fix=fix)


def _is_of_spark(error: Exception) -> bool:
    """Return True if the broken pipe led to Spark's JVM, not to the reader of our output."""
    return any("py4j" in frame.filename or "pyspark" in frame.filename for frame in traceback.extract_tb(error.__traceback__))
