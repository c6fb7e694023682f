"""Open evidence: files, and their contents.

Modules, in reading order:

    streams      streams that return as many bytes as possible and keep the fault that ends them
    objects      S3 objects, read like files
    tar_members  files of a tar archive, with bounded lengths
    containers   nested compression and archives, recognised by their content; encodings
    rotation     file names: which files form one log, and in what order
"""
