"""The case folder: evidence added to it, its tables, its views, and whether its files are still what they were."""
