"""How bytes become a report.

The rooms, in reading order; each imports only from those above it:

    errors, failures    one tree of errors: what, why, where, what to do; errors of others in these words
    resources           where the packaged TOML and SQL files are
    schema              names, types and meanings of table columns
    redaction           secrets are kept out of every table
    evidence            files and what lies in them: compression, archives, faults, rotated names
    records             bytes to records: layouts, times, continuation lines
    catalogue           TOML files to a checked catalogue of messages, and a record to a typed event
    snapshots           what tools, REST answers and properties files say beside the logs
    inventory           what each file is: its hash, its process, its time zone
    ingest              splits of the evidence to rows: readers, statistics, the Spark data source
    session             one way to start Spark
    wording             facts to sentences
    case                the case folder: evidence added to it, tables, views, integrity
    offsets_topic       how the replicas of `__consumer_offsets` lie
    report              views to text, JSON, Markdown and HTML
    console, cli        what commands say while they work; the commands
"""

__version__ = "0.1.0"
