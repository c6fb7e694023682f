"""Convert bytes to records: how a line prints its time, level, thread and logger, which line begins a record, and which continue it.

Modules, in reading order:

    timestamps          converts times to microseconds; zones
    pattern_layout      converts PatternLayout strings of log4j and logback to regular expressions
    beginnings          finds the bytes with which a match of an expression can begin
    layouts             loads `parsers/layouts.toml`: whole lines, wrappers, keys of JSON
    kafka_words         loads `parsers/kafka_words.toml`: prefixes, and words that identify a line as Kafka's
    exports             reads tables that contain records
    json_documents      reads JSON documents that contain records: arrays, answers of log stores
    line_reader         reads one line at a time: the reference implementation
    layout_check        checks layouts against their examples
    filtered_lines      detects a selection of lines, for example by `grep`
    layout_inference    infers undescribed layouts from a file's own lines
    layout_detection    determines the profile of a file from its beginning
    nearest_layout      finds how much of a line the closest layout matches if none fits
    vectorized          does the same as `line_reader` for millions of lines together
"""
