"""View files: what rows mean, one Spark SQL view a file; thresholds in `knobs.sql`, rules under `rules/`."""
