"""What is read: files, and what lies in them.

The modules, in reading order:

    streams      bytes that come as far as they can: a fault ends a stream and is kept in it
    objects      objects of S3, read as files are
    tar_members  files of a tar archive, every length bounded
    containers   compression and archives inside one another, opened by what they are; encodings
    rotation     names of files: which are one log, and in what order
"""
