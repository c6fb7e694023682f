"""Find the failures of Connect tasks and connectors, in Python, and who ran these afterwards.

A module is named as the view that it computes, and works as those of `forensics.causes` do.

    failures            groups the lines about one failure
    owners              finds who ran a task or connector before and after a failure
    restarts            finds why a task or connector was started
    deletions           finds when its connector was deleted
    assigned_task_runs  finds whether assigned tasks ran
    task_failure        the view `task_failure`
    unstarted_task      the view `unstarted_task`
    source_offset       the view `source_offset`: what source connectors stored
    source_start        the view `source_start`: from where source tasks started
"""
