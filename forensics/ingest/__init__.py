"""Evidence to rows: splits that Spark's tasks read, and what each of them counts and writes."""
