"""The API of `import forensics`: cases, views and reports, for programs and notebooks. The commands call the same functions.

Heavy packages are imported only when needed: those of the engine with the first query, pandas with the first pandas frame.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, overload

from forensics.engines import engine as engine_of
from forensics.errors import CaseError, ForensicsError, UsageError, did_you_mean
from forensics.evidence.objects import S3Path, place
from forensics.extract.reading_processes import MUCH_BYTES, Readers
from forensics.pandas_import import show
from forensics.wording.formats import printable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from forensics.case.folder import Case as CaseFolder
    from forensics.case.ingestion import Summary
    from forensics.engines.base import Engine
    from forensics.evidence.objects import Location
    from forensics.report.document import Document
    from forensics.report.model import Report as Model
    from forensics.report.read_only import Guard

#: Called with a step, the amount done and the total (bytes for `looking` and `reading`, else a number of items).
Progress = Callable[[str, int, int], None]
AnyPath = str | os.PathLike[str]
#: Logs smaller than this are read before a JVM has warmed up.
_LITTLE_BYTES = 100 << 20
#: Maximum number of rows that a notebook shows.
_MAX_SHOWN = 200


class ReportFormat(StrEnum):
    """Formats of a report."""

    text = "text"
    json = "json"
    markdown = "markdown"
    html = "html"


class ProofLine(TypedDict, total=False):
    """A log line of a proof; it has only `event_id` if the case does not contain the line.

    `ts` is the time on the clock of the process that wrote the line, in UTC; `line` counts from 1; `byte_offset` is the offset of the line in `path`;
    `role` says what the line shows.
    """

    event_id: str
    process_id: str | None
    path: str
    line: int
    byte_offset: int
    ts: datetime | None
    text: str
    role: str


class Finding(TypedDict):
    """A finding: the columns of the view `finding`, with its proof lines. Times are on the reference clock, in UTC.

    `severity` is `critical`, `warning` or `note`; `verdict` is `proved`, `refuted`, `undecided` or None; `facts` is JSON text with the named values
    in `headline` and `explanation`; `caused_by` is the `finding_id` of the finding that caused this one; `repeats` lists its occurrences if it
    happened more than once.
    """

    finding_id: str
    rule: str
    code: str | None
    severity: str
    verdict: str | None
    kafka_cluster: str | None
    group_id: str | None
    subject: str | None
    from_ts: datetime | None
    to_ts: datetime | None
    headline: str
    explanation: str | None
    advice: str | None
    facts: str | None
    occurrences: int
    subjects: int
    incident_id: str | None
    caused_by: str | None
    caused_how: str | None
    worst_id: str
    worst_ms: float | None
    repeats: list[dict[str, Any]]
    witness: list[ProofLine]


@dataclass(frozen=True)
class Report:
    """A report of a case for the requested groups and time range.

    Attributes:
        case: the case folder from which it was read.
        model: all rows, with times as datetimes in UTC, from which every format is rendered.
        option: an option that names the case in the commands that the text and Markdown mention; empty if they need none.
    """

    case: CaseFolder
    model: Model
    option: str = ""

    def __repr__(self) -> str:
        from forensics.wording.formats import count

        return (
            f"<forensics.Report of {str(self.case.root)!r}: {count(len(self.model.findings), 'finding')}; print(report.brief) shows the first screen>"
        )

    @property
    def findings(self) -> list[Finding]:
        """Return the findings, most severe first; a notebook shows them as a table."""
        return cast("list[Finding]", Rows(self.model.findings))

    def _repr_html_(self) -> str:
        return Text(self.brief)._repr_html_()

    @property
    def brief(self) -> str:
        """Return the first screen as plain text: the verdict, what happened, who was affected, what to do, how sure it is, what the logs do not contain."""
        return self.text().strip()

    @property
    def oneline(self) -> str:
        """Return one line for each incident: severity, state, start, end, subject, cause, worst damage and ID, with tabs between them."""
        from forensics.report import oneline

        return "\n".join(oneline.lines(self._worded))

    @property
    def limits(self) -> str:
        """Return which logs are missing, end early or are damaged, in one phrase; empty if the evidence is complete."""
        from forensics.report import verdict

        return verdict.limits_of(self.model)

    def text(self, *, width: int | None = None, full: bool = False, all_lines: bool = False) -> str:
        """Return the report as plain text.

        Args:
            width: width in characters; None: wide enough for all tables.
            full: return the full report; False: its first screen.
            all_lines: include every line of each proof of the full report, not only three.
        """
        from forensics.report import text

        return text.as_text(self.document(full=full or all_lines, all_lines=all_lines), *(() if width is None else (width,)))

    def markdown(self, *, all_lines: bool = False) -> str:
        """Return the full report as Markdown; `all_lines` as for `text`."""
        from forensics.report import markdown

        return markdown.render(self.document(full=True, all_lines=all_lines))

    def html(self) -> str:
        """Return the report as one HTML file that needs no network."""
        from forensics.report.page import case_rows, render

        worded = self._worded
        return render.render(worded, case_rows.read(self.case, worded))

    def json(self) -> str:
        """Return the report as JSON that conforms to `report-schema.json`. Times are ISO 8601 in UTC."""
        from forensics.report import content, json_form, story, summary
        from forensics.report.names import Names

        worded = self._in(UTC)
        names = Names(worded)
        return json_form.render(self.model, story.stories(worded, names), summary.make(worded, names, content.clock(worded)))

    def render(self, form: ReportFormat | str = ReportFormat.text, *, full: bool = False, all_lines: bool = False) -> str:
        """Return the report in a format: `text`, `markdown`, `html` or `json`; `full` and `all_lines` as for `text`.

        Raises:
            UsageError: there is no such format.
        """
        match form:
            case ReportFormat.text:
                return self.text(full=full, all_lines=all_lines)
            case ReportFormat.markdown:
                return self.markdown(all_lines=all_lines)
            case ReportFormat.html:
                return self.html()
            case ReportFormat.json:
                return self.json()
        raise UsageError(f"There is no format `{form}`.", where="form", fix=f"Use one of {', '.join(ReportFormat)}.")

    def document(self, *, full: bool = True, all_lines: bool = False) -> Document:
        """Return the blocks that the text is made of; `full` and `all_lines` as for `text`."""
        from forensics.report import content

        worded = self._worded
        return (content.compose(worded, all_lines=all_lines) if full else content.first_screen(worded)).of_case(self.option)

    def finding(self, finding_id: str) -> Document:
        """Return the blocks of one finding: its facts, and every line of its proof with its role.

        Raises:
            UsageError: the report has no such finding.
        """
        from forensics.report import content

        return content.one_finding(self._worded, finding_id).of_case(self.option)

    def finding_list(self) -> Document:
        """Return the blocks of a table of all findings, most severe first: ID, verdict, time, group and headline."""
        from forensics.report import content

        return content.finding_list(self._worded)

    def notes(self) -> Document:
        """Return the blocks of all notes: settings worth checking, and normal events that look like problems."""
        from forensics.report import content

        return content.notes(self._worded).of_case(self.option)

    @property
    def _worded(self) -> Model:
        """Return the rows with sentences for the reader's zone and names."""
        return self._in(self.model.zone)

    def _in(self, zone: tzinfo) -> Model:
        from forensics.report import localize
        from forensics.report.names import Names

        return localize.for_reader(self.case, self.model, zone, Names(self.model).processes)


class Case:
    """A case: logs that were read, and the views over them.

    Views that are missing, or were built by another version, are computed when they are first needed. This starts an engine; stored views are read
    without one.
    """

    def __init__(self, folder: CaseFolder, engine: Engine, *, progress: Progress | None = None, overrides: Mapping[str, int] | None = None) -> None:
        """Initialise a case; use `open_case` or `ingest` instead.

        Args:
            folder: the case folder.
            engine: computes missing views.
            progress: called with each step.
            overrides: the user's thresholds; None: those of the case.
        """
        self._stored, self._engine, self._progress, self._overrides = folder, engine, progress or _quiet, overrides
        self._current = False
        self._guard: Guard | None = None

    def __repr__(self) -> str:
        return f"forensics.Case({str(self.root)!r})"

    @property
    def root(self) -> Path:
        """Return the absolute path of the case folder, or of the local copy of a case in S3."""
        return self._stored.root

    @property
    def folder(self) -> CaseFolder:
        """Return the case folder with its views, which are computed first if `outdated`.

        Raises:
            CaseError: the views cannot be computed, another process is writing to the case, or the case was moved and is read-only.
        """
        self.prepare()
        return self._stored

    def prepare(self, progress: Progress | None = None) -> None:
        """Compute the views if they are `outdated`. Takes the same arguments and raises the same errors as `compute_views`.

        Raises:
            CaseError: the case was moved, and is read-only until the user runs `forensics verify --rebuild`.
        """
        if why := self.outdated:
            if was := self._stored.moved_from:
                reason = {"none": "it has no views yet", "thresholds": "its views were built with other thresholds"}.get(why, why)
                raise CaseError(
                    f"The case was moved here from `{printable(was)}` and is opened read-only.", why=reason, where=str(self.root),
                    fix=f"If you trust it, `forensics verify {quote(str(self.root))} --rebuild` builds the views and makes the case yours.",
                )  # fmt: skip
            self.compute_views(progress)

    @property
    def moved_from(self) -> str:
        """Return the path at which the case was written, if it has moved since; a moved case is read-only. Empty if it has not moved."""
        return self._stored.moved_from

    def notice(self, called: str = "") -> str:
        """Return a warning if the case was changed after this user sealed it. If it does not have this user's seal, the first call returns a sentence that says so.

        Args:
            called: path or URL of the case for the command in the sentence; empty: its path.
        """
        from forensics.report import verify

        return verify.notice(self._stored, called or str(self.root))

    @property
    def outdated(self) -> str | None:
        """Return the reason why the views must be computed before they are read, one of those in `forensics.case.views`; None if they are current."""
        from forensics.case import views

        if not self._current:
            why = views.outdated(self._stored, self._overrides)
            # Rows built by another version are used as they are if the folder is read-only or has moved.
            if why is not None and (why != views.OLDER or (os.access(self.root, os.W_OK) and not self.moved_from)):
                return why
            self._current = True
        return None

    @property
    def needs_no_views(self) -> bool:
        """Return True if the case has no views and needs none for a report, because no line of Kafka was read."""
        from forensics.case import views

        return not self._stored.views() and views.is_empty(self._stored)

    def compute_views(self, progress: Progress | None = None) -> None:
        """Compute all views, even if they exist.

        Args:
            progress: called with each step; by default the function with which the case was opened.

        Raises:
            CaseError: the views cannot be computed, or another process is writing to the case.
            ForensicsError: the engine does not start.
        """
        from forensics.case import views

        steps = progress or self._progress
        steps("starting the engine", 0, 1)
        self._stored = views.build(self._stored, self.engine, lambda view, number, of: steps(f"views: {view}", number, of), self._overrides)
        self._current = True

    @property
    def engine(self) -> Engine:
        """Return the engine that runs queries over the case, configured for its size; it starts with the first query."""
        from forensics.case import views
        from forensics.case.remote import Remote

        self._engine.little = views.is_small(self._stored)
        self._engine.elsewhere = Remote.of(self.root) if self._engine.is_far else None
        return self._engine

    @property
    def views(self) -> list[str]:
        """Return names for `view`: the views, and the IDs of the rules."""
        from forensics.report import query

        return sorted(query.saved_queries("public", "rule"))

    @overload
    def view(self, name: str) -> pa.Table: ...
    @overload
    def view(self, name: str, form: Literal["arrow"]) -> pa.Table: ...
    @overload
    def view(self, name: str, form: Literal["pandas"]) -> pd.DataFrame: ...
    @overload
    def view(self, name: str, form: Literal["spark"]) -> DataFrame: ...
    @overload
    def view(self, name: str, form: Literal["rows"]) -> Rows: ...
    def view(self, name: str, form: str = "arrow") -> pa.Table | pd.DataFrame | DataFrame | Rows:
        """Return all rows of a view; `docs/views.md` describes the meaning and unit of each column.

        Args:
            name: a view, or the ID of a rule.
            form: `arrow` for a `pyarrow.Table`, `pandas` for a pandas data frame (pandas must be installed), `rows` for dictionaries that a notebook
                shows as a table, or `spark` for a data frame of the engine's session, in which every view of this case is then registered under its
                name.

        Returns:
            The rows. Columns whose names end in `_ms` are milliseconds; time columns are timestamps in UTC; lists and structs stay nested.

        Raises:
            UsageError: there is no such view or format.
            CaseError: the case is damaged, or a view cannot be computed.
            ForensicsError: the engine does not start, or pandas is not installed.
        """
        from forensics.report import query, stored

        if form not in ("arrow", "pandas", "rows", "spark"):
            raise UsageError(f"There is no format `{form}`.", where="form", fix="Use one of arrow, pandas, rows, spark.")
        view = query.saved(name)
        if form == "spark":
            return query.frame(self.engine, self.folder, view)
        table = stored.table(self.folder, view.name)
        if table is None:  # a view that is not stored
            table = query.frame(self.engine, self.folder, view).toArrow()
        return table if form == "arrow" else Rows(table.to_pylist()) if form == "rows" else _to_pandas(table)

    @property
    def findings(self) -> list[Finding]:
        """Return all findings, most severe first; use `report` for filters."""
        return self.report().findings

    @property
    def incidents(self) -> Rows:
        """Return incidents by root cause, most severe first, with the columns of the view `incident`; `finding_ids` lists their findings."""
        return Rows(self.report().model.incidents)

    def sql(self, statement: str, *, unrestricted: bool = False) -> Rows:
        """Return the rows of a SQL statement over the views of this case. With several statements, separated by `;`, return the rows of the last one.

        Args:
            statement: SQL that only reads views, those of the case and temporary ones of earlier statements.
            unrestricted: True to run the SQL as it is. It can then read and write every file that you can, and on Spark run programs.

        Raises:
            UsageError: the statement is not known to only read views, or the engine cannot run it; the error says why and where.
            ForensicsError: the engine does not start.
        """
        from forensics.report import query, read_only

        self._guard = self._guard or read_only.Guard()
        statements = [replace(s, source="statement") for s in query.own(statement, None, guard=self._guard, unrestricted=unrestricted)]
        return Rows(query.dicts(lambda: self.engine, self.folder, statements))

    def show(self, wanted: str, *, context: int = 2, merge: bool = False, tz: str = "", width: int = 120) -> Text:
        """Return the log lines behind an ID, from the evidence.

        Args:
            wanted: ID of an event, finding, incident or ownership, or its first characters; or a time (`07:52:24`) or a generation (`GROUP:13`), which
                returns the merged lines of all processes.
            context: number of lines before and after each.
            merge: also merge the lines of all processes for an ID.
            tz: time zone of displayed times; UTC if empty.
            width: width in characters.

        Raises:
            UsageError: nothing in the case matches `wanted`.
        """
        from forensics.report import merged, show, text

        is_merged = merge or show.is_time_or_generation(wanted)
        found = merged.show if is_merged else show.show
        return Text(text.as_text(found(self.folder, wanted, context, _zone(tz)), width))

    def timeline(self, group: str = "", *, resources: Sequence[str] = (), since: str = "", until: str = "", tz: str = "", width: int = 120) -> Text:
        """Draw who owned what, and when, as text: a row per resource, a lane per owner.

        Args:
            group: only this group; all groups if empty.
            resources: only these tasks, connectors or partitions.
            since: as for `report`.
            until: as for `report`.
            tz: as for `report`.
            width: width of the drawing in characters.

        Raises:
            UsageError: the case has no such group, resource or time.
        """
        from forensics.report import text, timeline

        reported = self.report(since=since, until=until, groups=[group] if group else (), tz=tz)
        return Text(text.as_text(timeline.compose(reported.model, width, resources), width))

    def report(self, *, since: str = "", until: str = "", groups: Sequence[str] = (), rules: Sequence[str] = (), tz: str = "") -> Report:
        """Return a report of what happened, which can be rendered in every format.

        Args:
            since: from this time on: ISO 8601, a time of day on the case's day (`07:52`), or a duration before the last event (`2h`, `30m`, `1d`).
            until: up to this time, in the same formats; a date includes the whole day.
            groups: only these groups.
            rules: only findings of these rules, each in full.
            tz: time zone of displayed times and of `since` and `until`: `Europe/Berlin`, `+02:00`; UTC if empty.

        Raises:
            UsageError: the case has no such time or group, or there is no such rule or time zone.
            CaseError: the case is damaged, or a view cannot be computed.
        """
        from forensics.report import reading, selection

        check_rules(rules)
        zone = _zone(tz)
        folder = self._stored if self.needs_no_views else self.folder
        found = reading.read(folder, selection.Filters(since, until, tuple(groups), tuple(rules), zone))
        return Report(folder, replace(found, zone=zone))


def _zone(name: str) -> tzinfo:
    """Return a time zone by its name; UTC if the name is empty."""
    if not name:
        return UTC
    from forensics.records.timestamps import find_zone

    return find_zone(name)


class Rows(list[dict[str, Any]]):
    """Rows as dictionaries by column, shown as a table in a notebook."""

    def _repr_html_(self) -> str:
        from html import escape

        def cells(tag: str, texts: Iterable[object]) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(printable('' if text is None else str(text)))}</{tag}>" for text in texts) + "</tr>"

        shown = self[:_MAX_SHOWN]
        body = "".join(cells("td", row.values()) for row in shown)
        more = f"<p>{len(shown):,} of {len(self):,} rows</p>" if len(self) > len(shown) else ""
        return f"<table><thead>{cells('th', self[0] if self else ())}</thead><tbody>{body}</tbody></table>{more}"


class Text(str):
    """Text of several lines, which an interpreter prints unquoted and a notebook shows as a block."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self)}</pre>"


@dataclass(frozen=True)
class Ingested:
    """The result of `ingest`.

    Attributes:
        case: the case after the ingest.
        summary: the files, and the result of reading each.
    """

    case: Case
    summary: Summary

    def __repr__(self) -> str:
        from forensics.wording.formats import count

        read = f"{count(len(self.summary.added), 'file')} read, {count(len(self.faults), 'fault')}"
        return f"<forensics.Ingested into {str(self.case.root)!r}: {read}; the case has {count(self.counts.get('records', 0), 'record')}>"

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Return path and reason of each file that could not be read completely."""
        return self.summary.faults

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the number of `lines`, `records`, `events`, `counted` and `unrecognised` records, and `unfit` lines of the whole case.

        A counted record is not an event. The numbers include logs that are excluded as copies of others; `summary.copies` lists those.
        """
        return self.summary.counts


def open_case(
    path: AnyPath, *, engine: str = "", master: str = "", jobs: int | None = None, assume_skew_ms: int | None = None, progress: Progress | None = None
) -> Case:
    """Open a case that `ingest` created, and check that its files are unchanged.

    Args:
        path: the case folder, or `s3://bucket/prefix`.
        engine: `spark` or `sail`, for missing views; by default the value of $FORENSICS_ENGINE, else Spark.
        master: URL of a Spark master; this machine if empty.
        jobs: number of cores to use on this machine; None: all.
        assume_skew_ms: assume that all clocks agree within this many milliseconds; None: the value stored in the case.
        progress: called with each step.

    Raises:
        CaseError: there is no case, or it has another format, or it is damaged.
        UsageError: there is no such engine.
    """
    from forensics.case import folder

    return Case(folder.open_case(Path(path)), engine_of(engine, master=master, jobs=jobs), progress=progress, overrides=thresholds(assume_skew_ms))


def ingest(
    logs: AnyPath | Iterable[AnyPath],
    case: AnyPath,
    *,
    time_zone: Sequence[str] = (),
    layout: Sequence[str] = (),
    host: Sequence[str] = (),
    parsers: Iterable[AnyPath] = (),
    keep_all: bool = False,
    assume_skew_ms: int | None = None,
    views: bool = True,
    engine: str = "",
    master: str = "",
    jobs: int | None = None,
    progress: Progress | None = None,
    command_line: Sequence[str] = (),
) -> Ingested:
    """Read logs into a case. Files whose content is already in the case are not read again.

    Args:
        logs: a file, a folder or an archive, or several of them; `s3://bucket/prefix` is treated like a folder.
        case: the case folder, or `s3://bucket/prefix`; created if it does not exist.
        time_zone: time zones of logs whose times have none, as `[GLOB=]ZONE`: `Europe/Berlin`, `w2/*=+02:00`.
        layout: PatternLayouts (log4j, logback) of logs with a custom layout, as `[GLOB=]PATTERN`.
        host: hosts that wrote the files, as `GLOB=NAME`.
        parsers: folders of your own pattern files.
        keep_all: keep lines without facts as rows of `event`; by default they are only counted, in `counted_line`.
        assume_skew_ms: assume that all clocks agree within this many milliseconds; the case keeps this assumption, and the report states it.
        views: compute the views now; if False, the first query computes them.
        engine: `spark` or `sail`; by default the value of $FORENSICS_ENGINE, else Spark.
        master: URL of a Spark master, whose executors also read the logs; this machine if empty.
        jobs: number of cores to use on this machine; None: all.
        progress: called with each step.
        command_line: the command line to record in the case.

    Returns:
        The case, and the files that could not be read (`faults`).

    Raises:
        UsageError: a path does not exist, an option is invalid, or there is no such engine.
        CatalogueError: one of your pattern files is invalid.
        CaseError: the case cannot be written, or a view cannot be computed. The case is unchanged.
        ForensicsError: the engine does not start, or an object store refuses to list its objects.
    """
    paths = _paths(logs)
    size = bytes_below(paths)
    with Readers(jobs) as readers:
        if not master:
            readers.begin(size // MUCH_BYTES)
        # Import this while the readers import the same modules.
        from forensics.case import ingestion
        from forensics.case import views as case_views
        from forensics.inventory.source_options import SourceOptions

        runs, steps, overrides = engine_of(engine, master=master, jobs=jobs), progress or _quiet, thresholds(assume_skew_ms)
        runs.little = size < _LITTLE_BYTES

        def made(found: CaseFolder) -> tuple[CaseFolder, dict[str, str] | None]:
            if case_views.outdated(found, overrides) is None:
                return case_views.as_moved(found) if found.moved_from else (found, None)  # nothing is new
            if not views or case_views.is_empty(found):
                return case_views.without(found, overrides)
            try:
                return case_views.computed(found, runs, lambda view, number, of: steps(f"views: {view}", number, of), overrides)
            except CaseError as e:
                raise CaseError(
                    e.what, why=e.why, where=e.where, fix="The case is unchanged. With --no-views the logs that were read are kept."
                ) from e

        options = ingestion.Options(SourceOptions.parse(time_zone, layout, host), tuple(map(Path, parsers)), keep_all, tuple(command_line))
        used = runs if runs.master or views and size else None
        summary = ingestion.ingest(paths, Path(case), options, engine=used, jobs=jobs, readers=readers, progress=steps, views=made)
    return Ingested(Case(summary.case, runs, progress=progress, overrides=overrides), summary)


def _paths(logs: object) -> list[Location]:
    several = [logs] if isinstance(logs, (str, os.PathLike)) else list(logs) if isinstance(logs, Iterable) else None
    if several is None or not all(isinstance(path, (str, os.PathLike)) for path in several):
        raise UsageError("`logs` must be a path or several paths.", why=f"it is {type(logs).__name__}", where="logs")
    return [place(path) for path in several]


def rule_ids() -> list[str]:
    """Return the IDs of all rules, sorted."""
    from forensics.resources import RULES, sql_dir

    return sorted(f.name.removesuffix(".sql") for f in (sql_dir() / RULES).iterdir() if f.name.endswith(".sql"))


def check_rules(rules: Sequence[str]) -> None:
    """Raise a `UsageError` that suggests the closest match if a rule does not exist."""
    known = rule_ids()
    for unknown in (r for r in rules if r not in known):
        raise UsageError(f"There is no rule `{unknown}`.", where="--rule", fix=did_you_mean(unknown, known, f"The rules: {', '.join(known)}."))


def thresholds(assume_skew_ms: int | None) -> dict[str, int] | None:
    """Return the user's thresholds by their names in SQL; None if the user specified none."""
    return None if assume_skew_ms is None else {"assume_skew_ms": assume_skew_ms}


def bytes_below(paths: Iterable[Location]) -> int:
    """Return the total size of files and folders as stored; files that cannot be accessed count as 0.

    Raises:
        ForensicsError: a store has no such object or refuses access to it.
    """
    total = 0
    for path in paths:
        if isinstance(path, S3Path):
            total += sum(size for _, size in path.files())
            continue
        for file in path.rglob("*") if path.is_dir() else (path,):
            try:
                total += file.stat().st_size
            except OSError:
                continue
    return total


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    show()
    try:
        import pandas  # noqa: F401, ICN001 (asked for by name: pyarrow's own words would not say what to do)
    except ImportError as e:
        raise ForensicsError("pandas is not installed.", why=str(e), where="form", fix="Run `pip install pandas`, or use the format `arrow`.") from e
    return table.to_pandas()


def _quiet(step: str, done: int, total: int) -> None:
    """Ignore progress."""
