# SPDX-License-Identifier: Apache-2.0
"""Log statements to messages as a release prints them: values for the holes, objects in the form of that release, the prefix before it."""

from __future__ import annotations

import re

from facts import Hole, Statement
from hole_values import (
    BROKER,
    CLIENT,
    CONNECTOR,
    COUNT,
    EXPRESSIONS,
    GENERATION,
    GROUP,
    HEARTBEAT,
    PARTITION,
    TASK,
    WHOLE,
    WORDS,
    WORKER_GROUP,
    Value,
    member_metadata,
    offsets_partition,
    since,
    worker_assignment,
    worker_connector,
)

_TASK_OBJECTS = {
    "WorkerSinkTask", "WorkerSourceTask", "ExactlyOnceWorkerSourceTask", "AbstractWorkerSourceTask", "WorkerTask", "SourceTaskOffsetCommitter",
}  # fmt: skip
_STREAMS_PREFIX = {
    "KafkaStreams": "stream-client [app]",
    "StreamTask": "task [0_1]",
    "GlobalStreamThread": "global-stream-thread [app-GlobalStreamThread]",
}
_WORKER_MEMBERS = {"WorkerCoordinator", "DistributedHerder", "IncrementalCooperativeAssignor", "EagerAssignor"}
_NO_CONTEXT = {"AppInfoParser", "AbstractConfig", "AbstractStickyAssignor", "StickyAssignor", "Utils"}
_SHARDS = {"GroupMetadataManager", "OffsetMetadataManager", "ClassicGroup", "GenericGroup", "GroupCoordinatorShard", "StreamsGroup"}


def render(statement: Statement, release: str, logger: str) -> str:
    """The message, with its prefix, as a release prints it with one of the statement's loggers."""
    text = ""
    whole = iter(WHOLE.get(statement.template, ()))
    for index, piece in enumerate(statement.pieces):
        if isinstance(piece, str):
            text += piece
            continue
        told = next(whole, "")
        if told:
            text += _of(told, release)
        else:
            after = next((p for p in statement.pieces[index + 1 :] if isinstance(p, str)), "")
            text += _value(piece, text, after, statement, release, logger)
    return prefix(statement, release, logger) + text.rstrip()


def _of(value: Value, release: str) -> str:
    return value if isinstance(value, str) else value(release)


def _value(hole: Hole, before: str, after: str, statement: Statement, release: str, logger: str) -> str:
    expression = hole.expression
    if statement.side == "streams" and expression.endswith("logPrefix"):
        return _STREAMS_PREFIX.get(statement.owner, "stream-thread [app-StreamThread-1]") + ("" if after.startswith(" ") else " ")
    special = _special(expression, before, statement, release, logger)
    if special is not None:
        return special
    if expression not in ("", "d"):
        chosen = re.search(r'\?\s*"([^"]*)"|if \(.*?\) "([^"]*)"', expression)
        if chosen:
            return chosen[1] or chosen[2] or ""
        for pattern, value, sides in EXPRESSIONS:
            if statement.side in (sides or statement.side) and re.fullmatch(pattern, expression):
                return _of(value, release)
    around = f"{before[-60:]}~{after[:20]}"
    for pattern, value in WORDS:
        if re.search(pattern, around):
            return _of(value, release)
    return str(COUNT) if expression == "d" else "value"


def _special(expression: str, before: str, statement: Statement, release: str, logger: str) -> str | None:
    """Values that depend on the class that prints: `this`, assignments, partitions of __consumer_offsets."""
    owner = statement.owner
    if owner == "ZooKeeperClient" and expression == "message":
        return "Session expired."
    if owner == "Worker" and expression == "errorMessageIfExpired":
        return f"Timed out while calling the 'alterOffsets' method for sink connector {CONNECTOR}"
    if statement.template == "{}" and statement.side == "streams":
        return "Setting topic 'orders' to consume from earliest offset" if owner == "StreamThread" else "TaskManager is not specified"
    if owner == "KafkaConfig" and statement.template == "{}":
        return "Broker configuration log.message.format.version with value 2.8 is ignored because the inter-broker protocol version is 3.0"
    if owner == "TransactionManager" and expression == "logPrefix":
        return "[TransactionalId tx-1] "
    if owner == "AbstractConfig" and expression == "b.toString()":
        return f"{logger.rsplit('.', 1)[-1]} values: \n\tgroup.id = {GROUP}\n\tsession.timeout.ms = 45000\n"
    if "HeartbeatRequestManager" in owner and not before:
        return HEARTBEAT
    if statement.side == "connect":
        return _connect(expression, before, owner, release)
    if statement.side == "broker":
        if expression in ("tp", "topicPartition", "context.tp", "ctx.tp", "appendPartition"):
            return offsets_partition(release)
        if expression in ("member", "currentLeader") and owner in ("GroupCoordinator", "GroupMetadata"):
            return member_metadata(release)
    return None


def _connect(expression: str, before: str, owner: str, release: str) -> str | None:
    this = expression in ("this", "id", "task", "workerTask", f"{owner}.this") or (not expression and not before)
    if this and owner in _TASK_OBJECTS:
        kind = owner if owner in ("WorkerSinkTask", "ExactlyOnceWorkerSourceTask") else "WorkerSourceTask"
        return TASK if expression == "id" else f"{kind}{{id={TASK}}}"
    if owner == "WorkerConnector" and (this or expression == "connector"):
        return worker_connector(release)
    if expression.endswith(("assignment", "AssignmentSnapshot")) and owner in ("DistributedHerder", "WorkerCoordinator"):
        return worker_assignment(release)
    return str(GENERATION) if expression == "generation" else None


def prefix(statement: Statement, release: str, logger: str) -> str:
    """The context that a release puts before the message of this statement."""
    owner, simple = statement.owner, logger.rsplit(".", 1)[-1]
    if statement.side == "broker":
        return _broker_prefix(owner, logger, release)
    if simple in _WORKER_MEMBERS:
        from_the_first = simple == "WorkerCoordinator" or owner == "AbstractCoordinator"
        return f"[Worker clientId=connect-1, groupId={WORKER_GROUP}] " if since(release, "1.0.0" if from_the_first else "2.3.0") else ""
    if statement.side == "client" and since(release, "1.0.0") and owner not in _NO_CONTEXT:
        if owner in ("KafkaProducer", "TransactionManager"):
            return "[Producer clientId=producer-1] "
        kind = "ShareConsumer" if simple.startswith("Share") else "Consumer"
        return f"[{kind} clientId={CLIENT}, groupId={GROUP}] "
    if statement.side == "streams" and since(release, "1.0.0") and not _begins_with_prefix(statement):
        of_task = {"StreamTask": " task [0_1]", "StandbyTask": " standby-task [0_1]"}.get(owner, "")
        return _STREAMS_PREFIX.get("" if of_task else owner, "stream-thread [app-StreamThread-1]") + of_task + " "
    return ""


def _begins_with_prefix(statement: Statement) -> bool:
    first = statement.pieces[0] if statement.pieces else ""
    return isinstance(first, Hole) and first.expression.endswith("logPrefix")


def _broker_prefix(owner: str, logger: str, release: str) -> str:
    if logger.startswith("org.apache.kafka.coordinator."):
        if owner in _SHARDS:
            return f"[GroupCoordinator id={BROKER} topic=__consumer_offsets partition={PARTITION}] "
        if logger.endswith("EventProcessorThread"):
            return "[group-coordinator-event-processor-0]: "
        return f"[ShareCoordinator id={BROKER}] " if ".share." in logger else f"[GroupCoordinator id={BROKER}] "
    if owner == "GroupCoordinator":
        return f"[GroupCoordinator {BROKER}]: "
    if owner == "GroupMetadataManager":
        return f"[GroupMetadataManager brokerId={BROKER}] " if since(release, "1.0.0") else f"[Group Metadata Manager on Broker {BROKER}]: "
    by_owner = {
        "KafkaApis": f"[KafkaApi-{BROKER}] ",
        "BrokerServer": f"[BrokerServer id={BROKER}] ",
        "BrokerLifecycleManager": f"[BrokerLifecycleManager id={BROKER}] ",
        "ReplicationControlManager": f"[QuorumController id={BROKER}] ",
        "ZooKeeperClient": "[ZooKeeperClient Kafka server] ",
        "KafkaServer": f"[KafkaServer id={BROKER}] " if since(release, "1.0.0") else f"[Kafka Server {BROKER}], ",
        "ShutdownableThread": "[ExpirationReaper-1-Heartbeat]: ",
    }
    return by_owner.get(owner, "")
