"""A report as one HTML file for a browser: an interactive timeline, findings with their proofs, and the lines behind them. It needs no network.

The modules, in reading order:

    process_style   assigns colour, pattern and name to each process
    scene       defines what is drawn: rows, bars, overlaps, generations, tracks
    lanes, overlaps, rounds, tracks, causes, build      convert rows of the report to the scene
    case_rows, journal      read more rows of the case, mostly log lines, and merge them on the reference clock
    drawing     draws SVG inside the page
    spans       draws an owner's time as a bar
    still, spacetime, charts    draw the timeline for print, proofs in space and time, small charts
    front           composes the first screen: incidents as stories
    cards           composes findings with their proofs
    figures     defines the live timeline that Bokeh draws
    payload, pack   convert the scene and the lines to the columns that the page's script reads
    policy      restricts what the page may do
    render      renders the HTML

`templates` has the page's parts, `assets` its style sheet and its script.
"""
