"""What Kafka writes: the TOML of `parsers/` to a checked catalogue of messages, and a record to a typed event.

The modules, in reading order:

    pattern_files       `[[event]]` blocks, each with its place in its file
    literals            text that every match of a pattern contains
    embedded_protocol   assignments as bytes
    converters          text of a capture to a typed value
    counted_texts       messages without a fact, told many at once
    client_libraries    clients whose words an application prints in a manner of its own
    patterns            the catalogue: loaded, compiled, checked
    plans               blocks made ready, and found by how a message begins
    prefixes            context in front of a message
    releases            which releases can have printed a record
    known_bugs          which releases have which bug
    recogniser          a record to its event
"""
