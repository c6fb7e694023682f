"""What is read: files and what lies in them. Compression and archives inside one another, faults that end a stream, names of rotated logs."""
