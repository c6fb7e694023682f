"""Rebuild Kafka group rebalances from logs: who owned what, when, whether twice, why, and which lines prove it.

For programs and notebooks (`forensics.api` tells more, docs/notebook.ipynb shows it):

    import forensics
    case = forensics.ingest("logs", "my-case").case      # or forensics.open_case("my-case")
    case.findings                                        # what was found, the gravest first, with its lines
    case.view("ownership", "pandas")                     # who owned what: Arrow (the default), pandas or a Spark frame
    case.report(since="07:50").html()                    # the report as text, Markdown, JSON or a page

Errors are those of `forensics.errors`. Nothing of it is imported before it is used.

How bytes become a report: the rooms, in reading order; each imports only from those above it, which `lint-imports` holds. Each tells its modules in its own `__init__`.

    errors          one tree of errors: what, why, where, what to do, exit code
    resources       where the packaged TOML and SQL files are
    failures        errors of others (the system, Arrow, Spark) in these words
    schema          names, types and meanings of table columns
    redaction       secrets are kept out of every table
    evidence        files and what lies in them: compression, archives, faults, rotated names
    records         bytes to records: layouts, times, continuation lines
    catalogue       TOML files to a checked catalogue of messages, and a record to a typed event
    snapshots       what tools, REST answers and properties files say beside the logs
    inventory       what each file is: its hash, its process, its time zone
    extract         splits of the evidence to rows
    engines         where queries run: Spark or Sail (import_guard, pandas_import, scratch: what they need on a strange machine)
    wording         facts to sentences
    case            the case folder: evidence added to it, tables, views, integrity
    offsets_topic   how the replicas of `__consumer_offsets` lie
    report          views to text, JSON, Markdown and HTML
    redact          evidence without names, to be given away
    share           a case for other people's tools
    api             cases and reports for programs and notebooks: what `import forensics` gives
    console         what commands say while they work
    cli             the commands
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forensics.api import Case, Finding, Ingested, ProofLine, Report, ReportFormat, ingest, open_case

__version__ = "0.1.0"
__all__ = ["Case", "Finding", "Ingested", "ProofLine", "Report", "ReportFormat", "ingest", "open_case"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever the name stands for; type checkers read the imports above)
    if name in __all__:
        return getattr(import_module("forensics.api"), name)
    raise AttributeError(f"module 'forensics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
