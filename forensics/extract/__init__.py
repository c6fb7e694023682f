"""Turn evidence into rows: the splits that tasks read, and the rows and counts that each task writes.

Modules are listed in the order in which a byte passes through them. Readers yield chunks and do not know the tables; one loop, in `reading`, owns
rows and counts.

    splits              cuts the evidence into parts, one or more for each task
    chunks              the records that readers yield, their classification, and counts
    message_templates   reads messages together that differ only in their numbers
    line_sieves         decides for many lines together what need not be read
    column_reader       reads logs in their original form, as columns
    single_readers      reads wrapped logs and snapshots, one record at a time
    stream_summaries    summarises the rows of each stream, and finds repeated ones
    row_builder         converts classified records to Arrow
    split_counts        counts the contents of a split
    reading             converts splits to rows
    parquet_parts       writes rows to files
    memory              makes Python and the C library reuse memory and collect cycles seldom
    spark_source        offers the tasks as a Spark data source
    reading_processes   manages processes on this machine that read before an engine has started
    local_reading       runs the tasks in one of these processes
    stream_lines        holds the lines of one stream as columns
    same_time_order     orders lines with the same time in a log that starts with its newest lines
    wrong_times         corrects lines with an impossible time
    stream_segments     finds parts of another process or time zone, or joined in the wrong order
    repeated_lines      finds parts and lines that appear twice in a log
    repairs             decides what is wrong with lines, and corrects them
"""
