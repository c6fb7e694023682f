"""Read snapshots: outputs of Kafka's own tools, answers of Connect's REST API, and properties files, next to the logs.

Each format is one module that converts lines to `observation.Observation`; `detection` recognises the format of a file by its content and never by
its name. Nothing here opens a file.
"""
