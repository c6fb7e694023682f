"""The case folder: evidence added to it, its tables, its views, and whether its files are still what they were.

The modules, in reading order:

    integrity       what files were when they were written
    named           places of evidence that the user has named
    folder          tables, the manifest, `open.sql`; writing, whole or not at all
    ingestion       evidence into a case
    remote          a case in S3: its objects, and the copy of them that is worked in
    view_files      `sql/` to views, in their order
    emptiness       queries whose SQL tells that they have no rows
    query_parts     parts of a query that are read several times, as queries of their own
    open_sql        the text by which any Spark reads a case
    materialise     views to rows
    views           a case's views, built once and published
    shelf           cases that a report makes for itself
"""
