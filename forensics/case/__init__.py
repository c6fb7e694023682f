"""The case folder: its evidence, tables, views and manifest, and checks that its files are unchanged.

The modules, in reading order:

    integrity       size and SHA-256 of each file, recorded when it is written and checked when the case is opened
    seals           this user's seals of evidence locations and cases
    named           evidence locations that the user has named
    folder          tables, the manifest, `open.sql`; atomic writes
    ingestion       reads evidence into a case
    remote          a case in S3: its objects and their local copy
    view_files      loads the views of `sql/` and orders them
    needs           looks up which views cannot have rows
    query_parts     extracts common table expressions that a query reads several times
    stated_sizes    compares what a file states about its content with its bytes on the disk
    sql_types       converts types between Arrow and SQL
    open_sql        generates the SQL that opens a case in any Spark
    materialise     computes views and writes their rows
    views           builds and publishes a case's views
    cache           the user's cache of cases that `forensics report LOGS` creates
"""
