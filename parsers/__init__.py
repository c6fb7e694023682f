"""Describe what Kafka writes as data (TOML). Read `fields.toml` first, then `layouts.toml`, then one file for each subject."""
