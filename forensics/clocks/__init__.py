"""Compare the clocks of processes, in Python: pairs of lines, and the shortest paths of a graph of processes, by which the views after it place all times.

A module of a view is named as the view. Its function `rows` takes the rows of other views (`Inputs`) and returns dictionaries with exactly the columns that the
view's SQL file declares.

    edges         the form of a pair of lines of which one happened before the other
    round_edges   pairs of lines about one generation
    line_edges    pairs of lines that an id or an epoch joins
    clock_edge    the view `clock_edge`
    clock_bound   the view `clock_bound`
    clock_offset  the view `clock_offset`
    offsets       places moments on the reference clock
    reference     places times of stored rows, for pictures and merged lines
"""
