"""Turn evidence into rows: the splits that tasks read, and the rows and counts that each task writes.

Modules are listed in the order in which a byte passes through them. Readers yield chunks and do not know the tables; one loop, in `reading`, owns
rows and counts.

    splits              cuts the evidence into parts, one or more for each task
    chunks              the records and counts that readers yield
    word_search         finds which parts of a buffer contain one of many words
    counted_records     finds records without a fact in bulk
    new_messages        finds messages that have not occurred before
    column_reader       reads logs in their original form, as columns
    wrapped_reader      reads logs that a collector or a paste has wrapped, line by line
    snapshot_reader     reads snapshots
    arrays              converts values to Arrow, including values that do not fit their type
    many_messages       converts many messages of one source line to columns
    understanding       classifies records, one by one or in bulk
    stream_summaries    summarises the times and names in the rows of each stream
    row_builder         converts recognised records to Arrow
    split_counts        counts the contents of a split
    reading             converts splits to rows
    parquet_parts       writes rows to files
    memory              makes Python and the C library reuse memory and collect cycles seldom
    spark_source        offers the tasks as a Spark data source
    reading_processes   manages processes on this machine that read before an engine has started
    local_reading       runs the tasks in one of these processes
    repairs             corrects lines that belong to another process, time or position
    stream_lines        holds the lines of one stream as columns
    same_time_order     orders lines with the same time in a log that starts with its newest lines
    wrong_times         corrects lines with an impossible time
    joined_parts        orders parts of one log that were joined in the wrong order
    repeated_lines      finds parts that appear twice in a log
    doubled_lines       finds lines that a log prints twice
    local_time_jumps    finds all repairs and changes of time zone
"""
