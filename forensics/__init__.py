"""How bytes become a report.

The modules, in reading order; each imports only from those above it:

    imports     what Python may import: nothing from the working folder
    errors      one tree of errors: what, why, where, what to do, exit code
    failures    errors of others in these words
    resources   where the packaged TOML and SQL files are
    schema      names, types and meanings of table columns
    witnesses   what tools, REST answers and properties files say beside the logs
    evidence    files, archives, hashes, rotation, time zones: what is read
    records     bytes to records: layouts, line edges, continuation lines
    patterns    TOML files to a checked catalogue of messages
    known_bugs  releases that have a bug of Kafka
    events      record and catalogue to a typed event
    scratch     a folder for temporary files
    session     one way to start Spark
    source      the Spark data source: byte ranges to Arrow batches
    stretches   jumps of local time inside a stream: each part its own zone
    integrity   what a case's files were when they were written
    tables      the case folder: Parquet tables, manifest, open.sql
    ingest      evidence into a case
    queries     sql/ to views
    views       a case's views: built once, published
    report      views to text, JSON, Markdown and HTML
    talk        what commands say while they work
    cli         the commands
"""

__version__ = "0.1.0"
