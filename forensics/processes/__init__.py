"""Describe each process, in Python: its role, release, cluster and groups, and other logs that are parts of its own.

A module of a view is named as the view, and works as those of `forensics.causes` do.

    kafka_release  finds the release that fits the lines of a process
    same_process   finds logs that belong to one process
    process        the view `process`
"""
