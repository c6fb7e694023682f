"""Copy evidence without names, so that it can be shared and `forensics report` gives the same results for the copy.

Modules, in reading order:

    vocabulary        words that occur in everyone's logs and therefore name nothing
    pseudonyms        maps names to pseudonyms, by a key
    text              removes names from text, whether or not its parts are known to be names
    assignment_bytes  replaces names inside printed bytes
    records           rewrites the records of a log
    snapshots         rewrites outputs of tools
    machine           rewrites GC logs and what a platform says about a process
    copy_paths        chooses the paths of the copied files
    copying           copies a folder
"""
