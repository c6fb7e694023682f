"""Short names for processes, members and resources, the same wherever the report speaks of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from forensics.report.words import short_member

if TYPE_CHECKING:
    from forensics.report.model import Report, Row


class Names:
    """Names of one report: a process is called by its host where no other process has that host, else by its path."""

    def __init__(self, report: Report) -> None:
        processes = report.case["processes"]
        hosts = Counter(p["host"] for p in processes if p["host"])
        self._process = {p["process_id"]: p["host"] if hosts[p["host"]] == 1 else p["process_id"] for p in processes}
        self._member: dict[str, str] = {}
        for group in report.groups:
            per_process = Counter(m["process_id"] for m in group["members"])
            for m in group["members"]:
                self._member[m["member_id"]] = self._of_member(m, per_process[m["process_id"]])

    def _of_member(self, member: Row, in_process: int) -> str:
        if member["process_id"] is None:
            return short_member(member["member_id"])
        name = self.process(member["process_id"])
        # Several members in one process: its own restarts share a client id, different clients do not.
        return f"{name} {member['task'] or member['client_id']}" if in_process > 1 and (member.get("task") or member["client_id"]) else name

    def process(self, process_id: str | None) -> str:
        """A process's name; `?` when it is not known."""
        return self._process.get(process_id, process_id) if process_id else "?"

    def member(self, member_id: str | None) -> str:
        """A member's name: its process where its log is in the case, else its id with the uuid cut."""
        return self._member.get(member_id) or short_member(member_id) if member_id else "?"
