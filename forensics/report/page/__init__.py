"""A report as one HTML file for a browser: an interactive timeline, findings with their proofs, and the lines behind them. It needs no network.

The modules, in reading order:

    look        colour, pattern and name of each process
    scene       what is drawn: rows, bars, overlaps, generations, tracks
    lanes, overlaps, rounds, tracks, causes, build      rows of the report to the scene
    sight, journal      what else the case shows, above all log lines, merged on the reference clock
    drawing     SVG inside the page
    spans       an owner's time as a bar
    still, spacetime, charts    the timeline for print, proofs in space and time, small drawings
    front           the first screen: incidents as stories
    cards           findings with their proofs
    figures     the live timeline, as Bokeh draws it
    payload, pack   the scene and the lines as the columns that the page's script reads
    policy      what the page may do
    render      all of it to HTML

`templates` has the page's parts, `assets` its style sheet and its script.
"""
