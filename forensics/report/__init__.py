"""Turn views into text, JSON, Markdown and HTML. Needs no Spark: built views are Parquet, which pyarrow reads.

The modules, in reading order:

    window      parses the selected time range
    model       holds the rows of a report, in the shape of the JSON report
    row_times   lists the views that a report reads, and when their rows were
    stored_rows     reads rows that a case stores
    selection   chooses the rows of a reader's groups and time
    assembly    assembles rows to a report
    single_lines    finds what single lines show if no finding does
    reading     reads a case into a report
    exit_codes  decides what a report means for the exit code
    examined    phrases what an answer about split brain is based on
    names, resources      name processes and members; list tasks and partitions in a sentence
    document    defines the blocks of a report: content without layout
    proof       selects and orders the lines of a proof
    localize    rewrites sentences for the reader's time zone and process names
    incidents   groups findings below their root causes
    certainty   says how sure a report is, and what is missing
    collection      writes the scripts that collect evidence on a platform
    story, collect, summary         make the summary that every format begins with: each incident's story, and which evidence to collect
    oneline     gives a line for each incident
    verdict, findings, groups, missing_evidence, offsets_topic      convert rows to the sections of the report
    loggers     lists the loggers to turn on
    timeline    draws the lanes of owners in the terminal
    content     puts the sections in order; composes one finding, or the notes
    anchors     makes addresses inside a page
    screen      asks the terminal for its size, and runs a pager
    columns     lays out a table's cells in lines of a given width
    text, markdown, json_form             render blocks (or rows) as characters
    page        renders the report for a browser
    exceptions, pasted, explain     explain a pasted line
    merged      merges the lines of all processes on one clock
    show        prints the raw lines behind an ID
    verify      checks that a case and its evidence are unchanged
    derivation  derives a case again from its evidence and compares all rows
    stored      reads rows without an engine
    comparison  compares the rows of two cases
    completion  completes names and IDs in the shell
    read_only   accepts a user's SQL if it only reads views, and writes it again
    query       prints the rows of a query as a table, CSV or JSON
"""
