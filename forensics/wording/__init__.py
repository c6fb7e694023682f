"""Facts to sentences. SQL yields facts; the words beside it (`sql/rules/NAME.toml` of a rule, `sql/NAME.toml` of a view) tell them.

The modules, in reading order:

    formats     times, spans, names and untrusted text, as a reader wants them
    language    the sandboxed template language: one environment, and the filters that print spans, moments and lists
    files       word files: loaded, and their form checked
    facts       the names and codes that a query yields, read out of the SQL
    tell        rows of facts to headline, explanation and advice of findings, and to the texts of other views
    check       the SQL of rules and views and their word files held to each other
"""
