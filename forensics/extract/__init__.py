"""Evidence to rows: splits that tasks read, and what each of them counts and writes.

The way of a byte goes down this list. Readers yield chunks and know nothing of tables; one loop, in `reading`, owns rows and counts.

    splits              the evidence cut in parts, each for one task
    chunks              what readers yield
    word_search         which parts hold one of many words
    counted_records     records without a fact, many at once
    new_messages        messages that were not met before
    column_reader       logs that are read as they stand, as columns
    wrapped_reader      logs that a collector or a paste has wrapped, line by line
    snapshot_reader     snapshots
    arrays              values to Arrow, whatever a log line made of them
    many_messages       messages of one line of source to columns
    understanding       what records are: one by one, and many at a time
    jump_signs          what rows say of their stream's times and names
    row_builder         recognised records to Arrow
    split_counts        what a split held
    reading             splits to rows
    parquet_parts       rows to files
    memory              arrays are used again, not given back, and cycles looked for seldom
    spark_source        the tasks as a data source of Spark
    reading_processes   processes of this machine that read, before an engine has started
    local_reading       the tasks in one of them
    stretches           lines that are of another process, time or place than they stand for
    stream_lines        the lines of one stream, as columns
    tied_lines          lines of one moment, in a log that has its newest lines first
    wrong_times         lines whose time cannot be
    joined_parts        parts of one log that stand in the wrong order
    repeated_lines      parts that stand in a log twice
    doubled_lines       lines that a log prints twice
    local_time_jumps    all stretches, and where another zone holds
"""
