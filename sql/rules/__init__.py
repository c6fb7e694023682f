"""Rule files: each yields rows of the view `finding` for one question."""
