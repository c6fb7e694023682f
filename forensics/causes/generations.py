"""Name the columns of the view `generation` that several views are computed from."""

from __future__ import annotations

#: Columns of `generation` with the beginning of its rebalance: the first that is known counts.
BEGAN = ["prepared_ts", "first_asked_ts", "first_joined_ts", "stabilized_ts", "last_synced_ts"]
