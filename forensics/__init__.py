"""Reconstruct Kafka group rebalances from logs: who owned what and when, whether anything had two owners, why, and which lines prove it.

For programs and notebooks (see `forensics.api` and docs/notebook.ipynb):

    import forensics
    case = forensics.ingest("logs", "my-case").case      # or forensics.open_case("my-case")
    case.findings                                        # the findings, most severe first, with their log lines
    case.view("ownership", "pandas")                     # who owned what, as Arrow (the default), pandas or a Spark data frame
    case.report(since="07:50").html()                    # the report as text, Markdown, JSON or HTML

Errors are those of `forensics.errors`. Modules are imported on first use.

The packages and modules that turn bytes into a report, in reading order. Each imports only from those above it, which `lint-imports` checks. Each package lists its modules in its own `__init__`.

    errors          the hierarchy of errors: what, why, where, what to do, exit code
    resources       locates the packaged TOML and SQL files
    failures        converts errors of the system, Arrow and Spark
    schema          names, types and meanings of table columns
    redaction       keeps secrets out of every table
    evidence        reads files: compression, archives, damage, rotated names
    records         splits bytes into records: layouts, times, continuation lines
    catalogue       loads and checks the catalogue of messages, and converts a record to a typed event
    snapshots       reads output of tools, REST responses and properties files beside the logs
    inventory       describes each evidence file: its hash, process and time zone
    extract         converts splits of the evidence to rows
    engines         runs queries on Spark or Sail (import_guard, interrupts, pandas_import, scratch: what they need on an unknown machine)
    wording         converts facts to sentences
    relations       reads rows of views, for the rooms that compute others
    logs            finds what each log shows, repeats, mixes or lacks
    clocks          compares the clocks of processes
    runs            finds the runs of each process, and the Kafka cluster of each
    ownership       finds when tasks and partitions had no owner, and which records were read twice
    tasks           finds the failures of tasks, and who ran them afterwards
    generations     describes the generations of groups, and where the time of rebalances went
    coordinators    finds when members had no coordinator
    processes       describes each process
    memberships     finds the memberships that were lost, and how
    absences        finds when processes and brokers did not work
    causes          links findings to their causes, and both to incidents
    examination     decides what could be examined
    case            the case folder: ingest, tables, views, integrity
    offsets_topic   replica placement of `__consumer_offsets`
    report          renders views as text, JSON, Markdown and HTML
    redact          writes an anonymised copy of evidence
    share           exports a case to other tools
    api             the API of `import forensics`: cases and reports for programs and notebooks
    console         messages of the commands while they work
    agents          serves a case to AI agents
    cli             the commands
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forensics.api import Case, Finding, Ingested, ProofLine, Report, ReportFormat, ingest, open_case

__version__ = "0.3.0"
__all__ = ["Case", "Finding", "Ingested", "ProofLine", "Report", "ReportFormat", "ingest", "open_case"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 (the type depends on the name; type checkers read the imports above)
    if name in __all__:
        return getattr(import_module("forensics.api"), name)
    raise AttributeError(f"module 'forensics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
