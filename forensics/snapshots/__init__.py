"""Snapshots: what Kafka's own tools, Connect's REST interface and properties files say beside the logs.

Each format is one module that turns lines into `observation.Observation`; `detection` tells which format a file is, by its content and never by
its name. Nothing here opens a file.
"""
