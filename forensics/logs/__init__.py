"""Find what each log shows, repeats, mixes or lacks, in Python: rows about whole logs, which no rule may ignore.

A module is named as the view that it computes, and works as those of `forensics.causes` do.

    events             reads the rows of `event`, which is not stored
    member_rounds      reads the rounds of members
    lines              reads the rows of `process_line`, which is not stored
    instances          finds the run that printed a line
    clusters           finds runs and Kafka clusters of processes
    line_times         finds when a process printed anything
    time_zones         finds logs whose time zone is only assumed
    member_ids         takes member ids apart
    lost_range         the view `lost_range`
    lost_ranges        finds whether lines of a log are lost in a time
    complete_logs      finds logs that show how their process began
    unread_lines       finds damage in lines
    missing_processes  finds processes that only other logs name
    copied_log         the view `copied_log`
    damaged_line       the view `damaged_line`
    filtered_log       the view `filtered_log`
    filtered_logs      finds whether a log is filtered
    quiet_log          the view `quiet_log`
    shared_log         the view `shared_log`
    coverage_kinds     lists the codes of `coverage`, and what each means
    coverage           the view `coverage`
    gaps               describes gaps that the order of lines shows
    task_order         finds lines about a task that cannot follow one another
    partition_order    finds lists of partitions that contradict earlier lines
    work_holes         joins the gaps that lines about tasks and partitions show
    client_rounds      follows the lines of a client from one generation to the next
    membership_gaps    finds memberships that a member's log does not explain
    unanswered_joins   finds requests to join without an answer
    log_hole           the view `log_hole`
"""
