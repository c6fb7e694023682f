"""Steps between events and the public views: each reads rows above it and is there to be looked at when a verdict is doubted."""
