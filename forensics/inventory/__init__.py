"""What each file of the evidence is: its hash, its kind, the process that wrote it, and by which zone its times are read."""
