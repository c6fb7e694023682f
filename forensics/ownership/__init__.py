"""Find the periods without an owner, and the records that were read twice, in Python.

A module is named as the view that it computes, and works as those of `forensics.causes` do.

    gaps              finds the periods in which a resource had no known owner
    possible_owners   finds the gaps in which another member may have owned it
    delays            finds the scheduled rebalance delays of Connect groups
    unowned           the view `unowned`
    offset_commit     the view `offset_commit`
    start_commit      the step `start_commit`
    readings          finds how far each consumer read a partition
    reader_members    finds the member that a consumer was when it started to read
    duplicate_ledger  the view `duplicate_ledger`
"""
