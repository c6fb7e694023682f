"""Context prefixes of a message: who printed it. They are taken off before patterns see the message, and become captures.

Printed by Connect's logging context, by the clients' LogContext, and by the broker's coordinators; several may stand one behind the other:
`[b|task-1] [Consumer clientId=connector-consumer-b-1, groupId=connect-b] Resetting ...`.
"""

from __future__ import annotations

import regex

from forensics.catalogue.converters import is_blanked

_MOST_CACHED = 8_192

_CONNECT = regex.compile(r"\[(?P<connector>[^|\[\]]+)\|(?:worker|task-(?P<number>\d+)(?:\|\w+)?|validate)\]\ ?", regex.VERBOSE)
_CLIENT = regex.compile(
    r"\[(?P<client_kind>[A-Z][A-Za-z]*(?:\ [a-z]+)?)\ (?P<pairs>(?:clientId|groupId|instanceId|transactionalId)=[^\]]*)\]\ ?",
    regex.VERBOSE,
)
_PAIR = regex.compile(r"(clientId|groupId|instanceId|transactionalId)=(.*?)(?=,\ +(?:clientId|groupId|instanceId|transactionalId)=|$)", regex.VERBOSE)
_PAIR_NAMES = {"clientId": "client_id", "groupId": "group_id", "instanceId": "group_instance_id", "transactionalId": "transactional_id"}
_BROKER = regex.compile(
    r"""\[(?:
        GroupCoordinator\ (?:id=)?(?P<broker_id>\d+)(?:\ topic=\S+\ partition=(?P<offsets_partition>\d+))?
      | GroupMetadataManager\ brokerId=(?P<broker_id>\d+)
      | Group\ Metadata\ Manager\ on\ Broker\ (?P<broker_id>\d+)
      | ShareCoordinator\ id=(?P<broker_id>\d+)(?:\ topic=\S+\ partition=\d+)?
      | KafkaApi-(?P<broker_id>\d+)
    )\]:?\ ?""",
    regex.VERBOSE,
)
# A broker's own clients: of the controller quorum, of replication, of forwarding.
_BROKER_CLIENT = regex.compile(
    r"""\[(?:RaftManager\ id | ReplicaFetcher\ replicaId | (?:NodeToController|BrokerToController)ChannelManager\ (?:id|broker))=(?P<broker_id>\d+)
    (?:,?\ \w+=[^\]]*)?\]\ ?""",
    regex.VERBOSE,
)
_GROUP = regex.compile(r"\[(?:GroupId\ |Group\ |GroupId=)(?P<group_id>[^\]]+)\]\ ?", regex.VERBOSE)
_STREAM = regex.compile(r"(?:global-)?stream-(?:thread|client)\ \[(?P<thread_name>[^\]]+)\]:?\ ?", regex.VERBOSE)
_TASK_CLIENT = regex.compile(r"connector-(?:consumer|producer|dlq-producer|adminclient)-(?P<connector>.+)-(?P<number>\d+)", regex.VERBOSE)
_HEARTBEAT_THREAD = "kafka-coordinator-heartbeat-thread | "
_TASK_THREAD = regex.compile(r"task-thread-(?P<connector>.+)-(?P<number>\d+)", regex.VERBOSE)

Captures = dict[str, str | int]


class Prefixes:
    """Takes prefixes off messages; remembers those it has seen, for there are few of them and they repeat a million times."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Captures, str | None] | None] = {}

    def __reduce__(self) -> tuple[type[Prefixes], tuple[()]]:
        return Prefixes, ()

    def split(self, message: str) -> tuple[str, Captures, str | None]:
        """Splits a message.

        Args:
            message: the record's text after its layout.

        Returns:
            The message without prefixes, their captures, and Connect's context as printed (`b|task-1`) or None.
        """
        captures: Captures = {}
        context = None
        at = 0
        while message[at : at + 8].startswith(("[", "stream-t", "stream-c", "global-s")):
            end = message.find("]", at) + 1
            if end == 0:
                break
            if message[end : end + 1] == ":":
                end += 1
            if message[end : end + 1] == " ":
                end += 1
            head = message[at:end]
            known = self._known[head] if head in self._known else self._learn(head)
            if not known:
                break
            captures = {**captures, **known[0]} if captures else known[0]
            context = known[1] or context
            at = end
        return (message[at:] if at else message), captures, context

    def _learn(self, head: str) -> tuple[Captures, str | None] | None:
        parsed = parse_prefix(head)
        if len(self._known) >= _MOST_CACHED:
            self._known.clear()
        self._known[head] = parsed
        return parsed


def parse_prefix(head: str) -> tuple[Captures, str | None] | None:
    """Captures of one prefix with its closing bracket and blank, and Connect's context in it; None when it is no prefix."""
    found = _CLIENT.fullmatch(head)
    if found:
        captures: Captures = {"client_kind": found["client_kind"]}
        for key, value in _PAIR.findall(found["pairs"]):
            if value not in ("", "null") and not is_blanked(value):
                captures[_PAIR_NAMES[key]] = value
        return captures | task_of_client(str(captures.get("client_id", ""))), None
    found = _CONNECT.fullmatch(head)
    if found:
        captures = {"connector": found["connector"]}
        if found["number"]:
            captures["task"] = f"{found['connector']}-{found['number']}"
        return captures, head.strip()[1:-1]
    found = _BROKER.fullmatch(head) or _BROKER_CLIENT.fullmatch(head)
    if found:
        return {k: int(v) for k, v in found.groupdict().items() if v is not None}, None
    found = _GROUP.fullmatch(head) or _STREAM.fullmatch(head)
    return (dict(found.groupdict()), None) if found else None


def task_of_client(client_id: str) -> Captures:
    """Task and connector of a task's own client; nothing of any other."""
    found = _TASK_CLIENT.fullmatch(client_id) if client_id.startswith("connector-") else None
    return {"task": f"{found['connector']}-{found['number']}", "connector": found["connector"]} if found else {}


def captures_of_thread(thread: str) -> Captures:
    """What a thread's name tells: the group of a heartbeat thread, the task of a task's thread."""
    if thread.startswith(_HEARTBEAT_THREAD):
        return {"group_id": thread[len(_HEARTBEAT_THREAD) :]}
    found = _TASK_THREAD.fullmatch(thread) if thread.startswith("task-thread-") else None
    return {"task": f"{found['connector']}-{found['number']}", "connector": found["connector"]} if found else {}
