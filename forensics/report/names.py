"""Give processes, members and resources short names, which are the same throughout the report."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING

from forensics.wording.formats import short_member

if TYPE_CHECKING:
    from forensics.report.model import Report, Row

#: The client.id of a Kafka Streams consumer: the application, a UUID of the process, and the thread.
_THREAD = re.compile(r"^.+-(StreamThread-\d+)-consumer$")


class Names:
    """The names of one report: a process is called by its host if no other process has that host, or by its name in a merged file, else by its path."""

    def __init__(self, report: Report) -> None:
        processes = report.case["processes"]
        called = {p["process_id"]: p["host"] or _in_file(p["process_id"]) for p in processes}
        times = Counter(called.values())
        self._process = {process: name if name and times[name] == 1 else process for process, name in called.items()}
        self.processes: dict[str, str] = {process: name for process, name in self._process.items() if name}
        self._member: dict[str, str] = {}
        self._owner = {o["ownership_id"]: o["member_id"] for o in report.ownership}
        groups = Counter(group["group_id"] for group in report.groups)
        #: Groups of several Kafka clusters with one `group.id`.
        self._shared_groups = {group_id for group_id, clusters in groups.items() if clusters > 1}
        for group in report.groups:
            # One process may have several clients of a group (tasks of a sink); its restarts are members of one client.
            clients: dict[str, set[str]] = defaultdict(set)
            for m in group["members"]:
                clients[m["process_id"]].add(m["client_id"] or "")
            by_client = {process: _clients(its) for process, its in clients.items()}
            for m in group["members"]:
                self._member[m["member_id"]] = self._of_member(m, by_client[m["process_id"]])

    def _of_member(self, member: Row, clients: Mapping[str, str]) -> str:
        if member["process_id"] is None:
            return short_member(member["member_id"])
        name = self.process(member["process_id"])
        client = member.get("task") or clients.get(member["client_id"] or "")
        return f"{name} {client}" if client else name

    def group(self, kafka_cluster: str | None, group_id: str) -> str:
        """Return a group's id, with its Kafka cluster if a group of another cluster has the same id."""
        return f"{group_id} on cluster {kafka_cluster or 'unknown'}" if group_id in self._shared_groups else group_id

    def process(self, process_id: str | None) -> str:
        """Return a process's name; `?` if it is unknown."""
        return self._process.get(process_id, process_id) if process_id else "?"

    def owners(self, pair: Row) -> tuple[str, str]:
        """Return the names of the two owners of a row of `split_brain`: their processes, or, if they are in one process, its clients."""
        of = pair["process_a"], pair["process_b"]
        members = [self._owner.get(pair[name]) for name in ("ownership_a", "ownership_b")]
        if of[0] != of[1] or members[0] == members[1] or not all(m in self._member for m in members):
            return self.process(of[0]), self.process(of[1])
        return self.member(members[0]), self.member(members[1])

    def share(self, row: Row) -> str:
        """Return the name of the member of a `member_generation`; in releases that print no member ID, that of its process."""
        if row["member_id"] is not None and row["member_id"] in self._member:
            return self._member[row["member_id"]]
        if row["process_id"] is None:
            return self.member(row["member_id"])
        task = row.get("task")
        return f"{self.process(row['process_id'])} {task}" if task else self.process(row["process_id"])

    def member(self, member_id: str | None) -> str:
        """Return a member's name: its process if the case has its log, else its ID without the UUID."""
        return self._member.get(member_id) or short_member(member_id) if member_id else "?"


def _in_file(process_id: str) -> str:
    """Return the name that a merged file gives a process, such as `w2-1` of `compose.log#w2-1`; empty if it has only a number, or none."""
    name = process_id.rpartition("#")[2] if "#" in process_id else ""
    return "" if name.isdecimal() else name


def _clients(clients: Set[str]) -> dict[str, str]:
    """Return how to call each of a process's clients: by its thread if that is enough; an only client has no name of its own."""
    if len(clients) < 2:
        return {}
    threads = {client: _THREAD.sub(r"\1", client) for client in clients}
    return threads if len(set(threads.values())) == len(clients) else {client: client for client in clients}
