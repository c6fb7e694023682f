"""How bytes become a report.

The rooms, in reading order; each imports only from those above it, which `lint-imports` holds. Each tells its modules in its own `__init__`.

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
    engines         where queries run: Spark or Sail (import_guard, scratch: what they need on a strange machine)
    wording         facts to sentences
    case            the case folder: evidence added to it, tables, views, integrity
    offsets_topic   how the replicas of `__consumer_offsets` lie
    report          views to text, JSON, Markdown and HTML
    share           a case for other people's tools
    console         what commands say while they work
    cli             the commands
"""

__version__ = "0.1.0"
