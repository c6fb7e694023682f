"""Find whether a log is filtered, so that the absence of a line from it shows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs


def filtered_logs(inputs: Inputs) -> set[str]:
    """Return the processes whose logs are filtered.

    Args:
        inputs: rows of `filtered_log`.
    """
    return {row["process_id"] for row in inputs.rows("filtered_log", ["process_id"])}
