"""Bytes to records: how a line prints its time, level, thread and logger, which line begins a record, and which continue it."""
