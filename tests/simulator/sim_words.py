# SPDX-License-Identifier: Apache-2.0
"""The lines of three releases, word for word: the simulator's only knowledge of log lines.

Each entry: level, message (or one by release), logger with line (one by release). Shapes are copied from logs of real
processes of those releases. `@` stands for the class that inherits the coordinator, which 3.x prints instead of its base.
A release that lacks a line at INFO has no entry for it.
"""

from __future__ import annotations

RELEASES = ("2.3", "2.6", "3.9")
FULL = {"2.3": "2.3.0", "2.6": "2.6.2", "3.9": "3.9.1"}

_CLIENT = "org.apache.kafka.clients."
_INTERNALS = _CLIENT + "consumer.internals."
_CONNECT = "org.apache.kafka.connect.runtime."
_HERDER = _CONNECT + "distributed.DistributedHerder"
_WORKER = _CONNECT + "Worker"
_ABSTRACT = _INTERNALS + "AbstractCoordinator"
_CONSUMER = _INTERNALS + "ConsumerCoordinator"
_BROKER = "kafka.coordinator.group.GroupCoordinator"
_GENERATION = "Generation{generationId=%(generation)d, memberId='%(member)s', protocol='%(protocol)s'}"
_ASSIGNED = "Assignment{error=0, leader='%(leader)s', leaderUrl='%(url)s', offset=%(offset)d, connectorIds=[], taskIds=[%(tasks)s]%(revoked)s}"
_FETCH = "FetchPosition{offset=0, offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{leader=%(node)s, epoch=0}}"

Entry = tuple[str, "str | dict[str, str]", "str | dict[str, str]"]


def _lines(logger: str, a: int, b: int, c: int) -> dict[str, str]:
    return dict(zip(RELEASES, (f"{logger}:{a}", f"{logger}:{b}", f"{logger}:{c}"), strict=True))


def _coordinator(a: int, b: int, c: int) -> dict[str, str]:
    return _lines(_ABSTRACT, a, b, c) | {"3.9": f"@:{c}"}


LINES: dict[str, Entry] = {
    # every client of a group
    "discovered": ("INFO", "Discovered group coordinator %(broker)s (id: 2147483646 rack: null)", _coordinator(728, 838, 937)),
    "joining": ("INFO", "(Re-)joining group", _coordinator(505, 538, 605)),
    "joined": (
        "INFO",
        "Successfully joined group with generation " + _GENERATION,
        {k: v for k, v in _coordinator(0, 594, 666).items() if k != "2.3"},
    ),
    "synced": (
        "INFO",
        dict.fromkeys(RELEASES, "Successfully synced group in generation " + _GENERATION)
        | {"2.3": "Successfully joined group with generation %(generation)d"},
        _coordinator(469, 751, 843),
    ),
    "rebalancing": ("INFO", "Attempt to heartbeat failed since group is rebalancing", {"2.3": f"{_ABSTRACT}:936", "2.6": f"{_ABSTRACT}:1106"}),
    "rejoin": ("INFO", "Request joining group due to: %(reason)s", {"3.9": "@:1103"}),
    "unknown_member": (
        "INFO",
        dict.fromkeys(
            ("2.6", "3.9"),
            "Attempt to heartbeat with "
            + _GENERATION
            + " and group instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation",
        )
        | {"2.3": "Attempt to heartbeat failed for since member id %(member)s is not valid."},
        _coordinator(947, 1118, 1267),
    ),
    "reset": ("INFO", "Resetting generation and member id due to: %(reason)s", {"3.9": "@:1056"}),
    "coordinator_lost": (
        "INFO",
        dict.fromkeys(("2.3", "2.6"), "Group coordinator %(broker)s (id: 2147483646 rack: null) is unavailable or invalid, will attempt rediscovery")
        | {
            "3.9": "Group coordinator %(broker)s (id: 2147483646 rack: null) is unavailable or invalid due to cause: %(cause)s."
            " isDisconnected: false. Rediscovery will be attempted."
        },
        _coordinator(780, 881, 1000),
    ),
    "no_connection": (
        "WARN",
        dict.fromkeys(("2.3", "2.6"), "Connection to node 1 (/%(broker)s) could not be established. Broker may not be available.")
        | {"3.9": "Connection to node 1 (/%(broker)s) could not be established. Node may not be available."},
        _lines(_CLIENT + "NetworkClient", 748, 782, 851),
    ),
    "leaving": (
        "INFO",
        dict.fromkeys(
            ("2.6", "3.9"),
            "Member %(member)s sending LeaveGroup request to coordinator %(broker)s (id: 2147483646 rack: null) due to the consumer is being closed",
        )
        | {"2.3": "Member %(member)s sending LeaveGroup request to coordinator %(broker)s (id: 2147483646 rack: null)"},
        _coordinator(879, 1005, 1174),
    ),
    # a sink task's consumer
    "finished_assignment": ("INFO", "Finished assignment for group at generation %(generation)d: {%(parts)s}", _lines(_CONSUMER, 0, 617, 664)),
    "revoke": (
        "INFO",
        dict.fromkeys(("2.6", "3.9"), "Revoke previously assigned partitions %(parts)s")
        | {"2.3": "Revoking previously assigned partitions [%(parts)s]"},
        _lines(_CONSUMER, 476, 307, 0) | {"3.9": _INTERNALS + "ConsumerRebalanceListenerInvoker:80"},
    ),
    "lost": (
        "INFO",
        "Lost previously assigned partitions %(parts)s",
        {"2.6": f"{_CONSUMER}:331", "3.9": _INTERNALS + "ConsumerRebalanceListenerInvoker:95"},
    ),
    "adding": (
        "INFO",
        dict.fromkeys(("2.6", "3.9"), "Adding newly assigned partitions: %(parts)s") | {"2.3": "Setting newly assigned partitions: %(parts)s"},
        _lines(_CONSUMER, 283, 288, 0) | {"3.9": _INTERNALS + "ConsumerRebalanceListenerInvoker:58"},
    ),
    "position": (
        "INFO",
        dict.fromkeys(
            ("2.6", "3.9"),
            "Setting offset for partition %(part)s to the committed offset " + _FETCH % {"node": "Optional[%(broker)s (id: 1 rack: null)]"},
        )
        | {"2.3": "Setting offset for partition %(part)s to the committed offset " + _FETCH % {"node": "%(broker)s (id: 1 rack: null)"}},
        _lines(_CONSUMER, 525, 814, 0) | {"3.9": _INTERNALS + "ConsumerUtils:209"},
    ),
    # the worker
    "version": ("INFO", "Kafka version: %(version)s", _lines("org.apache.kafka.common.utils.AppInfoParser", 117, 117, 125)),
    "starting": ("INFO", "Kafka Connect starting", _lines(_CONNECT + "Connect", 50, 51, 71)),
    "cluster": ("INFO", "Cluster ID: %(cluster)s", _lines(_CLIENT + "Metadata", 266, 279, 365)),
    "herder_starting": ("INFO", "Herder starting", _lines(_HERDER, 238, 309, 377)),
    "herder_started": ("INFO", "Herder started", _lines(_HERDER, 242, 313, 389)),
    "rebalance_started": ("INFO", "Rebalance started", _lines(_CONNECT + "distributed.WorkerCoordinator", 213, 225, 243)),
    "finished_stopping": ("INFO", "Finished stopping tasks in preparation for rebalance", _lines(_HERDER, 1442, 1808, 2737)),
    "flushed": ("INFO", "Finished flushing status backing store in preparation for rebalance", {"2.6": f"{_HERDER}:1827", "3.9": f"{_HERDER}:2758"}),
    "assigned": (
        "INFO",
        dict.fromkeys(
            ("2.6", "3.9"),
            "Joined group at generation %(generation)d with protocol version %(version)d and got assignment: "
            + _ASSIGNED
            + " with rebalance delay: %(delay)d",
        )
        | {"2.3": "Joined group at generation %(generation)d and got assignment: " + _ASSIGNED},
        _lines(_HERDER, 1397, 1738, 2660),
    ),
    "work_starting": ("INFO", "Starting connectors and tasks using config offset %(offset)d", _lines(_HERDER, 1000, 1257, 1981)),
    "work_started": ("INFO", "Finished starting connectors and tasks", _lines(_HERDER, 1021, 1285, 2010)),
    "unreachable": (
        "INFO",
        "Broker coordinator was unreachable for 1500ms. Revoking previous assignment "
        + _ASSIGNED
        + " to avoid running tasks while not being a member the group",
        {"2.6": _CONNECT + "distributed.WorkerCoordinator:161", "3.9": _CONNECT + "distributed.WorkerCoordinator:175"},
    ),
    "herder_stopping": ("INFO", "Herder stopping", _lines(_HERDER, 533, 719, 853)),
    "stopping_all": ("INFO", "Stopping connectors and tasks that are still assigned to this worker.", _lines(_HERDER, 507, 684, 810)),
    "herder_stopped": ("INFO", "Herder stopped", _lines(_HERDER, 553, 739, 860)),
    "stopping": ("INFO", "Kafka Connect stopping", _lines(_CONNECT + "Connect", 66, 67, 87)),
    "stopped": ("INFO", "Kafka Connect stopped", _lines(_CONNECT + "Connect", 71, 72, 92)),
    # a task
    "starting_task": ("INFO", "Starting task %(task)s", _lines(_HERDER, 1035, 1299, 2024)),
    "creating_task": ("INFO", "Creating task %(task)s", _lines(_WORKER, 414, 509, 646)),
    "source_up": (
        "INFO",
        "WorkerSourceTask{id=%(task)s} Source task finished initialization and start",
        _lines(_CONNECT + "WorkerSourceTask", 200, 233, 0) | {"3.9": _CONNECT + "AbstractWorkerSourceTask:280"},
    ),
    "sink_up": (
        "INFO",
        "WorkerSinkTask{id=%(task)s} Sink task finished initialization and start",
        _lines(_CONNECT + "WorkerSinkTask", 301, 306, 325),
    ),
    "source_commit": (
        "INFO",
        dict.fromkeys(("2.3", "2.6"), "WorkerSourceTask{id=%(task)s} Committing offsets")
        | {"3.9": "WorkerSourceTask{id=%(task)s} Committing offsets for 50 acknowledged messages"},
        _lines(_CONNECT + "WorkerSourceTask", 398, 488, 236),
    ),
    "sink_commit": (
        "INFO",
        "WorkerSinkTask{id=%(task)s} Committing offsets asynchronously using sequence number %(number)d:"
        " {%(part)s=OffsetAndMetadata{offset=8, leaderEpoch=null, metadata=''}}",
        {"2.3": _CONNECT + "WorkerSinkTask:344", "2.6": _CONNECT + "WorkerSinkTask:349"},
    ),
    "stopping_task": ("INFO", "Stopping task %(task)s", _lines(_WORKER, 684, 887, 1048)),
    "stop_failed": ("ERROR", "Graceful stop of task %(task)s failed.", _lines(_WORKER, 704, 908, 1075)),
    "closing_producer": (
        "INFO",
        "Closing the Kafka producer with timeoutMillis = %(timeout)d ms.",
        _lines(_CLIENT + "producer.KafkaProducer", 1153, 1189, 1384),
    ),
    "unregistered": (
        "INFO",
        "App info kafka.%(kind)s for connector-%(kind)s-%(task)s unregistered",
        {"3.9": "org.apache.kafka.common.utils.AppInfoParser:89"},
    ),
    "threw": (
        "ERROR",
        dict.fromkeys(("2.3", "2.6"), "%(class)s{id=%(task)s} Task threw an uncaught and unrecoverable exception")
        | {
            "3.9": "%(class)s{id=%(task)s} Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until"
            " manually restarted"
        },
        _lines(_CONNECT + "WorkerTask", 179, 187, 234),
    ),
    # the coordinator
    "id_made": (
        "INFO",
        "Dynamic member with unknown member id joins group %(group)s in %(state)s state. Created a new member id %(member)s and request the member"
        " to rejoin with this id.",
        {"3.9": _BROKER},
    ),
    "preparing": (
        "INFO",
        "Preparing to rebalance group %(group)s in state PreparingRebalance with old generation %(generation)d (__consumer_offsets-%(partition)d)"
        " (reason: %(reason)s)",
        _BROKER,
    ),
    "stabilized": (
        "INFO",
        dict.fromkeys(("2.3", "2.6"), "Stabilized group %(group)s generation %(generation)d (__consumer_offsets-%(partition)d)")
        | {"3.9": "Stabilized group %(group)s generation %(generation)d (__consumer_offsets-%(partition)d) with %(members)d members"},
        _BROKER,
    ),
    "assignment": (
        "INFO",
        dict.fromkeys(("2.3", "2.6"), "Assignment received from leader for group %(group)s for generation %(generation)d")
        | {
            "3.9": "Assignment received from leader %(leader)s for group %(group)s for generation %(generation)d. The group has %(members)d members,"
            " 0 of which are static."
        },
        _BROKER,
    ),
    "failed": ("INFO", "Member %(member)s in group %(group)s has failed, removing it from the group", _BROKER),
    "left": (
        "INFO",
        {
            "2.3": "Member %(member)s in group %(group)s has left, removing it from the group",
            "2.6": "Member[group.instance.id None, member.id %(member)s] in group %(group)s has left, removing it from the group",
            "3.9": "Member MemberMetadata(memberId=%(member)s, groupInstanceId=None, clientId=%(client)s, clientHost=/%(host)s,"
            " sessionTimeoutMs=6000, rebalanceTimeoutMs=8000, supportedProtocols=List(%(protocol)s))"
            " has left group %(group)s through explicit `LeaveGroup`; client reason:"
            " the consumer is being closed",
        },
        _BROKER,
    ),
    "not_rejoined": ("INFO", "Group %(group)s removed dynamic members who haven't joined: Set(%(members)s)", {"3.9": _BROKER}),
    "empty": ("INFO", "Group %(group)s with generation %(generation)d is now empty (__consumer_offsets-%(partition)d)", _BROKER),
}


def say(release: str, name: str, coordinator: str = "", **values: object) -> tuple[str, str, str] | None:
    """Level, message and logger of a line, or None where the release prints nothing of the kind at INFO.

    Args:
        release: one of `RELEASES`.
        name: key of `LINES`.
        coordinator: class that `@` stands for (`WorkerCoordinator` or `ConsumerCoordinator`).
        **values: what the message needs.
    """
    level, message, logger = LINES[name]
    text = message.get(release) if isinstance(message, dict) else message
    where = logger.get(release) if isinstance(logger, dict) else logger
    if text is None or where is None or (name == "finished_assignment" and release == "2.3"):
        return None
    named = _CONNECT + "distributed." + coordinator if coordinator.startswith("Worker") else _INTERNALS + coordinator
    return level, text % values, where.replace("@", named)
