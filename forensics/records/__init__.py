"""Bytes to records: how a line prints its time, level, thread and logger, which line begins a record, and which continue it.

The modules, in reading order:

    timestamps          text of a time to microseconds, and zones
    pattern_layout      PatternLayout strings of log4j and logback to regular expressions
    beginnings          with which bytes a match of an expression can begin
    layouts             `parsers/layouts.toml`: whole lines, wrappers, keys of JSON
    kafka_words         `parsers/kafka_words.toml`: prefixes, and by which words a line is known as Kafka's
    exports             tables that hold records
    json_documents      JSON documents that hold records: arrays, answers of log stores
    line_reader         the plain reading, one line at a time
    layout_check        layouts held to their examples
    filtered_lines      what only a selection of lines, as `grep` makes one, can look like
    layout_inference    layouts that nobody described, from a file's own lines
    layout_detection    the beginning of a file to its profile
    nearest_layout      how far a layout gets on a line that none fits
    vectorized          the same for millions of lines at once
"""
