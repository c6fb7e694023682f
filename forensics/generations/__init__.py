"""Describe the generations of groups, in Python: where the time of their rebalances went.

A module is named as the view that it computes, and works as those of `forensics.causes` do.

    rebalances       joins what coordinators and members show about each rebalance
    rebalance_parts  divides rebalances into parts
    rebalance_blame  the view `rebalance_blame`
"""
