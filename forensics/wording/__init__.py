"""Facts to sentences. SQL yields facts; the words beside it (`sql/rules/NAME.toml`, `sql/words/NAME.toml`) tell them.

The modules, in reading order:

    language    the sandboxed template language: one environment, and the filters that print spans, moments and lists
    files       word files: loaded, and their form checked
    facts       the names and codes that a rule's SQL yields, read out of the SQL
    tell        rows of facts to headline, explanation and advice
    check       rule files and word files held to each other
"""
