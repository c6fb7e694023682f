"""Read rows of views and tables in Python, and work with them: what the rooms that compute views have in common.

inputs      reads the rows of views and tables
ordered     reads rows of large views one by one
conditions  states conditions on columns that a reader applies
by_key      finds rows by the values of their columns
missing     works with values that may be missing
"""
