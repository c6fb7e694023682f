"""Evidence without names: a copy that can be given away, of which `forensics report` tells the same.

The modules, in reading order:

    vocabulary        words that everybody's logs have, and that therefore name nothing
    pseudonyms        a name to its pseudonym, by a key
    text              text to text without names, whether it is known what its parts name or not
    assignment_bytes  names inside of printed bytes
    records           records of a log
    snapshots         outputs of tools
    copy_paths        paths of the files of a copy
    copying           a folder to its copy
"""
