"""The same for many lines at once, as columns; held to the slow, obvious reading by a differential test."""
