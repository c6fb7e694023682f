"""Make addresses inside a page: one for each ID of the case, the same in every page of the case."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from forensics.report.model import Row


def finding(finding_id: str) -> str:
    """Return the address of a finding's card."""
    return f"f-{quote(finding_id, safe='')}"


def incident(incident_id: str) -> str:
    """Return the address of a root cause, which is above the findings that it caused."""
    return f"i-{quote(incident_id, safe='')}"


def overlap(row: Row) -> str:
    """Return the address of a pair of owners of `split_brain`."""
    return f"s-{row['ownership_a']}-{row['ownership_b']}"


def absence(row: Row) -> str:
    """Return the address of a period without an owner of `incident_gap`."""
    return f"n-{quote(row['incident_id'], safe='')}-{quote(row.get('id') or row['resource'], safe='')}"


def generation(row: Row) -> str:
    """Return the address of a generation of a group."""
    return f"g-{quote(row['group_id'] or '', safe='')}-{row['incarnation']}-{row['generation']}"


def group(group_id: str | None) -> str:
    """Return the address of a group's section."""
    return f"group-{quote(group_id or '', safe='')}"
