"""Export a case for other tools: a trace for Perfetto, a timeline for Timesketch."""
