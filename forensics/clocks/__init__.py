"""Compare the clocks of processes, in Python: the shortest paths of a graph of processes, which the views after it place all times by.

A module is named as the view that it computes: `clock_bound` and `clock_offset`. Its function `rows` takes the rows of other views (`Inputs`) and returns
dictionaries with exactly the columns that the view's SQL file declares.
"""
