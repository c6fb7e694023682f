"""Turn views into text, JSON, Markdown and HTML. No Spark: built views are Parquet, and pyarrow reads them.

The modules, in reading order:

    window      the stretch of time that the reader asks for
    reference   moments on the reference clock
    model       the rows of a case, filtered; also the JSON report's shape
    examined    what an answer about split brain rests on
    names, resources      what processes and members are called; tasks and partitions in a sentence
    document    blocks: what is said, without how it looks
    proof       the lines that prove something, in order of time
    localize    sentences in the words of their reader: time zone, names of processes
    incidents   root causes and what followed from them
    brief       the answer in six lines
    story, collect, summary         the first screen: each incident's story, which evidence to collect, all of it as blocks
    verdict, findings, groups, unseen, offsets_topic      the report's parts, rows to blocks
    loggers     what to turn on to see more
    timeline    lanes of owners, drawn in the terminal
    content     the parts in their order; one finding; the notes
    anchors     addresses inside a page
    screen      the terminal: its size, and a pager
    columns     a table's cells to lines of a width
    text, markdown, json_form             blocks (or rows) to characters
    page        the report for a browser
    exceptions, pasted, explain     what a pasted line is
    merged      the lines of all processes on one clock
    show        the raw lines behind an id
    verify      whether a case and its evidence are what they were
    stored      rows that need no engine
    comparison  which rows only one of two cases has
    completion  names and ids for the shell to complete
    query       rows of a query to a table, CSV or JSON
"""
