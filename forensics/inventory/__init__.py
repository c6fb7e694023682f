"""The evidence files: their hash, kind, process, host and time zone.

The modules, in reading order:

    evidence        the description of one file, and its record in a case
    source_options  time zones, layouts and hosts that the user specifies
    file_type       recognises logs, and names other files
    walk            finds files and objects
    examination     reads each file once: hash, size, layout
    names           paths, processes and hosts in the case
    same_content    finds copies, logs that have grown, and files that changed while they were read
    inventory       combines all of these
"""
