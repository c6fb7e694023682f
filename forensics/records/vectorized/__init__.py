"""Do the same as `line_reader` for many lines together, as columns; a differential test compares the two.

Modules, in reading order:

    buffers         moves a window over a text
    line_fields     recognises headers and tails that lines have in common
    record_starts   finds the lines that begin a record, with their layouts and times
"""
