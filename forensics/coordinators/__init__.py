"""Find when members had no coordinator, in Python: the lines of each member in their order, then the outages of a group over all of its members.

A module is named as the view that it computes, and works as those of `forensics.causes` do.

    outages              the form of one member's outage
    closed_clients       finds when clients were closed
    coordinator_lines    reads the lines of members about their coordinator
    lost_coordinators    finds the outages of members that lost their coordinator
    never_found          finds the clients that never found one
    coordinator_outage   the view `coordinator_outage`
    concurrent_losses    finds who else had no coordinator at the same time
    coordinator_episode  the view `coordinator_episode`
    served_processes     finds when a coordinator answered another client of a process
    group_outage         the view `group_outage`
    offsets_topic        the view `offsets_topic`
    absent_brokers       finds whether the coordinator was down in an outage
    failed_connections   finds the connection errors of members during their outages
    failed_writes        finds the failed writes of coordinators
    untroubled           finds who had a coordinator meanwhile
    outage_evidence      the view `outage_evidence`
    failed_starts        finds the workers that reached no broker
    unreachable_brokers  finds the brokers that several processes could not reach
    unanswered_groups    finds the groups without a coordinator by other lines than a member's
    unreached            the view `unreached`
    open_requests        finds who prepares a rebalance, or waits for one, when the logs end
    open_rebalance       the view `open_rebalance`
"""
