"""Convert facts to sentences. SQL yields facts; the words beside it (`sql/7_rules/NAME.toml` of a rule, `sql/LAYER/NAME.toml` of a view) express them.

Modules, in reading order:

    formats     formats times, durations, names and untrusted text for readers
    language    the sandboxed template language: one environment, and filters that print durations, moments and lists
    files       loads word files and checks their form
    facts       extracts the names and codes that a query yields from its SQL
    sentences   converts rows of facts to headline, explanation and advice of findings, and to texts of other views
    check       checks the SQL of rules and views and their word files against each other
"""
