"""Find when processes and brokers did not work, in Python: they ended, were down, paused, cut off or killed.

A module of a view is named as the view, and works as those of `forensics.causes` do.

    broker_absence   the view `broker_absence`
    run_ends         what is known about the end of each process run
    process_ending   the view `process_ending`
    connections      finds processes that alone could not reach the brokers
    evidence         gathers what shows that one process was in trouble
    episodes         joins evidence of one trouble, and names its cause
    process_trouble  the view `process_trouble`
"""
