"""Compute the views that link findings to their causes, in Python: graphs over tens or thousands of rows.

A module is named as the view that it computes. Its function `rows` takes the rows of other views (`inputs`) and returns dictionaries with exactly the
columns that the view's SQL file declares; times are milliseconds since 1970. The SQL file names the module: `-- Computed: forensics.causes.NAME`.
"""
