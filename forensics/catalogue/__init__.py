"""What Kafka writes: the TOML of `parsers/` to a checked catalogue of messages, and a record to a typed event."""
