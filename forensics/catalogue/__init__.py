"""Define the messages of Kafka: load the TOML of `parsers/` as a checked catalogue, and convert records to typed events.

Modules, in reading order:

    pattern_files       loads `[[event]]` blocks, each with its position in its file
    literals            computes text that every match of a pattern contains
    linear              matches long texts in linear time, by RE2
    embedded_protocol   decodes assignments from bytes
    threads             reads what the threads of a JVM did in a dump of them
    converters          converts the text of a capture to a typed value
    counted_texts       recognises messages without a fact in bulk
    client_libraries    finds words of client libraries in an application's own log format
    patterns            loads, compiles and checks the catalogue
    plans               prepares blocks, and finds them by the beginning of a message
    prefixes            splits context prefixes off a message
    releases            finds the releases that can have printed a record
    known_bugs          lists bugs and the releases that have them
    recogniser          converts a record to its event
"""
