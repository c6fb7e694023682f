"""Find what became of memberships, in Python: which ended against the will of the member, how, and of which process they were.

A module of a view is named as the view, and works as those of `forensics.causes` do.

    member_setting     the view `member_setting`
    removals           what coordinators' logs show: members that were removed
    sink_workers       ties a sink's member to the worker that had its task
    removed_member     the view `removed_member`
    seats              what clients' logs show: memberships that were refused or removed
    losses             joins the two sides of each loss
    lost_membership    the view `lost_membership`
    surroundings       what else was printed around a loss
    sessions           looks up session timeouts
    expiries           what is known about removals for missing heartbeats
    expired_by_members  finds sessions that expired according to the logs of members
    expired_session    the view `expired_session`
    member_heard       the view `member_heard`
    kinds              decides how a membership was lost
    rounds             reads the generations of groups
    storm_round        the view `storm_round`
    storm_cost         adds up what rebalances cost
    storm              the view `storm`
    last_memberships   finds the last membership of each client whose log ends without an end
    later_generations  finds how groups went on after a membership
    silent_member      the view `silent_member`
"""
