"""Find the runs of each process, in Python: when they began, paused and ended, and the Kafka clusters that they belonged to.

A module of a view is named as the view, and works as those of `forensics.causes` do.

    run_facts        what the events of each run show
    setbacks         where clocks were set back
    process_life     the view `process_life`
    process_cluster  the view `process_cluster`
    process_pause    the view `process_pause`
    last_runs        finds the runs with which logs end
"""
