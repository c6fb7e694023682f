"""What each file of the evidence is: its hash, its kind, the process that wrote it, and by which zone its times are read.

The modules, in reading order:

    evidence        all that is known of one file, and how a case keeps it
    source_options  what the user says about files
    file_type       what a file is that is no log
    walk            files on disk
    examination     one pass over a content
    names           paths, processes and hosts in the case
    same_content    what is there twice, has grown, or has changed
    inventory       all of it together
"""
