"""Turn evidence into rows: the splits that tasks read, and the rows and counts that each task writes.

Modules are listed in the order in which a byte passes through them. Readers yield chunks and do not know the tables; one loop, in `reading`, owns
rows and counts.

    splits               cuts the evidence into parts, one or more for each task
    chunks               the records that readers yield, and their classification
    bulk_classification  classifies many messages together
    column_reader        reads logs in their original form, as columns
    single_readers       reads wrapped logs and snapshots, one record at a time
    stream_summaries     summarises the times and names of each stream
    row_builder          converts classified records to Arrow
    reading              converts splits to rows, and counts their contents
    parquet_parts        writes rows to files
    spark_source         offers the tasks as a Spark data source
    reading_processes    manages processes on this machine that read before an engine has started
    local_reading        runs the tasks in one of these processes
    stream_lines         holds the lines of one stream as columns
    wrong_times          corrects lines with an impossible time
    stream_segments      finds parts of another process or time zone, or joined in the wrong order
    repeated_lines       finds parts and lines that appear twice in a log
    repairs              decides what is wrong with lines, and corrects them
"""
