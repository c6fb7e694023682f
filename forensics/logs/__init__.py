"""Find what each log shows, repeats, mixes or lacks, in Python: rows about whole logs, which no rule may ignore.

A module is named as the view that it computes, and works as those of `forensics.causes` do.

    events             reads the rows of `event`, which is not stored
    coverage           the view `coverage`
    missing_processes  its rows about processes that other logs name
"""
