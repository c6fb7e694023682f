"""Addresses inside a page: one for each id of the case, the same whenever the page is made."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from forensics.report.model import Row


def finding(finding_id: str) -> str:
    """A finding's card."""
    return f"f-{quote(finding_id, safe='')}"


def incident(incident_id: str) -> str:
    """A root cause, above the findings that followed from it."""
    return f"i-{quote(incident_id, safe='')}"


def overlap(row: Row) -> str:
    """A pair of owners of `split_brain`."""
    return f"s-{row['ownership_a']}-{row['ownership_b']}"


def generation(row: Row) -> str:
    """A generation of a group."""
    return f"g-{quote(row['group_id'] or '', safe='')}-{row['incarnation']}-{row['generation']}"


def group(group_id: str | None) -> str:
    """A group's section."""
    return f"group-{quote(group_id or '', safe='')}"
