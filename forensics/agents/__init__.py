"""Serve a case to AI agents over the Model Context Protocol (docs/agents.md). Only this package and its command need the extra `mcp`.

Modules, lowest first:

    pages       cut an answer into pages, in a frame that says which text comes from logs
    one_select  accept one SELECT over a case's views
    queries     run a query in a process that can be ended
    server      the tools and the two transports
"""
