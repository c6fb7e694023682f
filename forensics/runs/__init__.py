"""Find the runs of each process, in Python: when they began, paused and ended, and the Kafka clusters that they belonged to.

A module of a view is named as the view, and works as those of `forensics.causes` do.

    process_cluster  the view `process_cluster`
"""
