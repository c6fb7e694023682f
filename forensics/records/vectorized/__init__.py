"""The reading of `line_reader` for many lines at once, as columns; held to it by a differential test.

The modules, in reading order:

    buffers         a window that moves over a text
    line_fields     headers and tails that lines have in common
    record_starts   which lines begin a record, by which layout, and when
"""
