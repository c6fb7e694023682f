"""A case for other people's tools: traces for Perfetto, a timeline for Timesketch."""
