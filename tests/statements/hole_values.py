# SPDX-License-Identifier: Apache-2.0
"""Plausible values for the holes of Kafka's log statements.

Every kind of value has a constant of its own, so that a capture of the wrong hole shows. A value may depend on the release.
"""

from __future__ import annotations

from collections.abc import Callable

from facts import version_key

Value = str | Callable[[str], str]

GROUP, WORKER_GROUP = "orders-app", "connect-cluster"
MEMBER = "consumer-orders-app-1-c5fe7902-ee91-4097-8590-b02864cd2c0e"
OTHER_MEMBER = "consumer-orders-app-2-18343482-2d7f-4a4b-9505-25b8d98c6b2d"
INSTANCE, CLIENT, CONNECTOR, TASK, TOPIC = "two", "consumer-orders-app-1", "jdbc-sink", "jdbc-sink-1", "orders"
GENERATION, EPOCH, PARTITION, OFFSET, MILLIS, COUNT, NODE_ID, BROKER = 7, 3, 21, 1789, 412, 2, 2147483646, 1
CONFIG_OFFSET, TOPIC_ID, STREAMS_TASK = 33, "Kq2jW2gAT0WF2GBhcMCkTQ", "0_1"
EXCEPTION = "org.apache.kafka.common.errors.CoordinatorNotAvailableException: The coordinator is not available."

#: What a capture may hold, whatever the statement: the constants of its kinds.
ALLOWED: dict[str, set[object]] = {
    "group_id": {GROUP, WORKER_GROUP},
    "member_id": {MEMBER, OTHER_MEMBER},
    "old_member_id": {MEMBER, OTHER_MEMBER},
    "leader_member_id": {MEMBER, OTHER_MEMBER},
    "group_instance_id": {INSTANCE},
    "generation": {GENERATION},
    "old_generation": {GENERATION},
    "offsets_partition": {PARTITION},
    "member_count": {COUNT},
    "static_count": {COUNT},
    "connector": {CONNECTOR},
    "task": {TASK, STREAMS_TASK},
    "duration_ms": {MILLIS},
    "config_offset": {CONFIG_OFFSET},
    "assigned_config_offset": {CONFIG_OFFSET},
}


def since(release: str, first: str) -> bool:
    """Return True if a release is `first` or later."""
    return version_key(release) >= version_key(first)


def generation(release: str) -> str:
    """A member's Generation object; a number before it could print itself."""
    return f"Generation{{generationId={GENERATION}, memberId='{MEMBER}', protocol='range'}}" if since(release, "2.2.0") else str(GENERATION)


def node(release: str) -> str:
    """A broker, here the coordinator."""
    if not since(release, "0.10.0.0"):
        return f"Node({NODE_ID}, broker-1, 9092)"
    return f"broker-1:9092 (id: {NODE_ID} rack: null{' isFenced: false' if since(release, '4.0.0') else ''})"


def offsets_partition(release: str) -> str:
    """A partition of __consumer_offsets."""
    return f"__consumer_offsets-{PARTITION}" if since(release, "0.10.2.0") else f"[__consumer_offsets,{PARTITION}]"


def worker_assignment(release: str) -> str:
    """Return an assignment as a Connect worker receives it."""
    extended = ", revokedConnectorIds=[], revokedTaskIds=[], delay=0" if since(release, "2.3.0") else ""
    return (
        f"Assignment{{error=0, leader='{MEMBER}', leaderUrl='http://w1:8083/', offset={CONFIG_OFFSET}, "
        f"connectorIds=[{CONNECTOR}], taskIds=[{TASK}]{extended}}}"
    )


def member_metadata(release: str) -> str:
    """A member as the Scala coordinator prints it."""
    if not since(release, "0.11.0.0"):
        return f"[{MEMBER},{CLIENT},/10.0.0.1,10000]"
    instance = "groupInstanceId=None, " if since(release, "2.3.0") else ""
    return (
        f"MemberMetadata(memberId={MEMBER}, {instance}clientId={CLIENT}, clientHost=/10.0.0.1, sessionTimeoutMs=10000, "
        f"rebalanceTimeoutMs=300000, supportedProtocols=List(range){'' if since(release, '3.0.0') else ', '})"
    )


def current_assignment(_: str) -> str:
    """A KIP-848 member's assignment in 3.6 and 3.7."""
    return (
        f"CurrentAssignment(memberEpoch={EPOCH}, previousMemberEpoch=2, targetMemberEpoch={EPOCH}, state=stable, "
        f"assignedPartitions={{{TOPIC_ID}=[0, 1]}}, partitionsPendingRevocation={{}}, partitionsPendingAssignment={{}})"
    )


def target_assignment(release: str) -> str:
    """Return an assignment as the server's assignor computes it."""
    member = "MemberAssignment" if since(release, "3.8.0") else "Assignment"
    return f"{{{MEMBER}={member}(partitions={{{TOPIC_ID}=[0, 1]}})}}"


def group_assignment(release: str) -> str:
    """Return an assignment as the leader of a classic group computes it; in 2.4.0, Assignment had no string form."""
    one = "Assignment(partitions=[orders-0])"
    if not since(release, "2.4.1"):
        one = "org.apache.kafka.clients.consumer.ConsumerPartitionAssignor$Assignment@1b2c"
    return f"{{{MEMBER}={one}, {OTHER_MEMBER}={one}}}"


def worker_connector(release: str) -> str:
    """A connector of a worker."""
    if since(release, "1.0.0"):
        return f"WorkerConnector{{id={CONNECTOR}}}"
    return f"WorkerConnector{{connName='{CONNECTOR}', connector=com.example.Jdbc@1b2c}}"


def position(release: str) -> str:
    """Return the position at which a consumer reads; a bare offset before 2.3."""
    if not since(release, "2.3.0"):
        return str(OFFSET)
    leader = f"Optional[{node(release)}]" if since(release, "2.4.0") else node(release)
    return f"FetchPosition{{offset={OFFSET}, offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{{leader={leader}, epoch={EPOCH}}}}}"


PARTITIONS = "[orders-0, orders-1]"
RESTART_REQUEST = "restart request for {connectorName='jdbc-sink', onlyFailed=false, includeTasks=true}"
RESTART_PLAN = f"plan to restart connector and 1 of 2 tasks for {RESTART_REQUEST}"
HEARTBEAT = "ConsumerGroupHeartbeatRequest"

#: Expression of a hole (whole, as a pattern) to its value; the first that fits. Some hold for one side only.
EXPRESSIONS: list[tuple[str, Value, str]] = [
    (r".*ByConsumer\(\)", f"{{{MEMBER}=[{STREAMS_TASK}]}}", "streams"),
    (r".*\b(getClass\(\)|className)\b.*|listener.*", "com.example.Handler", ""),
    (r".*(existing|old|received|other|current)Member(I[dD])?(\(\))?|otherConsumer|existingMemberId|currentMemberId", OTHER_MEMBER, ""),
    (r"receivedMemberId|oldMemberId|getStaticMemberId.*", OTHER_MEMBER, ""),
    (r"notYetRejoined.*|missing|membersWithMissing.*|unfilledMembers.*", f"[{MEMBER}]", ""),
    (r"(.*\.)?(protocol|protocolName)(\.get|\(\)|\.get\(\))*|preferredServerAssignor|.*Assignor", "range", ""),
    (r".*protocolType\(?\)?|.*PROTOCOL_TYPE", "consumer", ""),
    (r".*fromProtocolVersion\(.*|.*SESSIONED\.name\(\)|.*CONNECT_PROTOCOL_CONFIG\)", "sessioned", ""),
    (r".*([cC]urrentState|stateAsString|\.state)(\(\))?|state(\(\))?", "RUNNING", ""),
    (r"(new|old|next|previous|target)State|MemberState\..*|State\..*", "RUNNING", ""),
    (r"rebalanceConfig\.groupInstanceId|groupInstanceId", f"Optional[{INSTANCE}]", "client"),
    (r".*([iI]nstanceI[dD])(\.get|\(\))*(\.orElse\(.*\))?", INSTANCE, ""),
    (r".*([gG]enerationSnapshot|[sS]entGeneration|this\.generation|getGeneration\(\))|generation(\(\))?", generation, "client"),
    (r".*(generationId|groupEpoch|Generation|[gG]eneration)(\(\))?", str(GENERATION), ""),
    (r".*[mM]emberI[dD](\(\))?|.*memberIdInfoForLog\(\)|.*memberId\.orElse\(.*", MEMBER, ""),
    (r"consumer|.*leaderOrNull|.*leaderId|anyJoinedMember|unfilledMember|worker\.worker\(\)", MEMBER, ""),
    (r"groupId(\(\))?", WORKER_GROUP, "connect"),
    (r"(.*\.)?groupId(\(\))?|group", GROUP, ""),
    (r".*map\(_\.groupId\).*|.*deletedGroups.*", f"{GROUP}, connect-b", ""),
    (r".*currentAssignmentSummary\(\)", current_assignment, ""),
    (r".*targetAssignment\(\)", target_assignment, ""),
    (r"assignments|fullAssignment|groupAssignment", group_assignment, "client"),
    (r"Topic\.GROUP_METADATA_TOPIC_NAME", "__consumer_offsets", ""),
    (r"partitionFor\(.*|offsetTopicPartitionId|partitionId", str(PARTITION), ""),
    (r"isDisconnected|.*reportErrors.*|isTransactional", "false", ""),
    (r"epochForPartitionId.*", f"Some({EPOCH})", ""),
    (r".*[eE]poch(\(\))?(\.get\(\))?|lastEpochSentOnCommit.*", str(EPOCH), ""),
    (r".*delay\(\)", "0", ""),
    (r".*(Ms|Millis|milliseconds\(\)|timeMs|TimeMs|timeLapse|started|Now|durationOf\w+)(\(.*\))?( - .*)?", str(MILLIS), ""),
    (r".*(milliseconds\(\) - .*|isExpiredBy\(\)|timerStartedMs.*)", str(MILLIS), ""),
    (r".*(size(\(\))?|size\(\) - 1|[cC]ount|num[A-Z]\w*|length|Removed)(\(.*\))?", str(COUNT), ""),
    (r".*(numBytes\(\)|numRecords\(\)|bytesNeeded|loadBufferSize|Quota|RETRIES|totalCommitted\w+|totalPunct\w+|totalRecords\w+)", str(COUNT), ""),
    (r"maxTasks|numTasks|taskCount|maxAllocationForWorker|outstandingMessages|.*apply\(worker\)|remaining\w*", str(COUNT), "connect"),
    (r".*pendingRequestCount\(.*", str(COUNT), ""),
    (r".*(nodeId|node\.id|coordinator\.id\(\))|node", str(NODE_ID), "client broker"),
    (r"brokerId|.*correlationId\(\)|seqno|producerId|threadIdx|.*Version|.*VERSION", "1", ""),
    (r".*port\(\)|.*currentProtocolVersion|.*[tT]imestamp(\(\))?|.*assignmentErrorCode\.get\(\)|.*codeName\(\)", "1", ""),
    (r".*([cC]oordinator|coordinator\(\))|controller", node, ""),
    (r"plan", RESTART_PLAN, "connect"),
    (r"request|restartRequest", RESTART_REQUEST, "connect"),
    (r"tasks?ToStop|taskIds|tasks|tasks\.keySet\(\)", f"[{TASK}]", "connect"),
    (r".*[tT]ask(\.id)?(\(\))?|.*taskId|id", TASK, "connect"),
    (r"(.*\.)?task\.id(\(\))?|taskId|id|.*migratedTask\(\)\.id\(\)|activeTask\.id\(\)|suspendedTask\.getKey\(\)|task", STREAMS_TASK, "streams"),
    (
        r".*([tT]asks|[tT]askIds)(\(\))?(\.keySet\(\))?|.*TaskIds\(\)|states",
        f"[{STREAMS_TASK}]",
        "streams",
    ),
    (r"connectors(\.keySet\(\))?", f"[{CONNECTOR}]", "connect"),
    (r".*(connName|connectorName|[cC]onnector|conn)(\(\))?", CONNECTOR, "connect"),
    (r"newTopic", f"(name={TOPIC}, numPartitions=1, replicationFactor=3, replicasAssignments=null, configs={{}})", ""),
    (r".*Utils\.join\(.*|.*Collectors\.joining.*", "orders-0, orders-1", "client"),
    (r"unusedKeys|unusedkeys", "[group.ids]", ""),
    (r"assignedTopicIdPartitions|assignedTopicPartitions", PARTITIONS, ""),
    (r".*([pP]artitions|tps)(\(\))?(\)|\.mkString.*|\.stream.*|\.subList.*)?|.*revoked", PARTITIONS, ""),
    (r".*assignmentToString.*|unassignedPartitions.*", PARTITIONS, ""),
    (r".*topicPartition|tp|partition|.*Partition|record\.partition\(\)", "orders-1", ""),
    (r".*[tT]opics(\(\))?|String\.join.*|.*subscribedTopic\w*\(\)|.*creatableTopics\.keys", "[orders]", ""),
    (r".*\b[tT]opic(Name)?(\(\))?(\.name)?|record\.name\(\)|.*[tT]opic\(\)", TOPIC, ""),
    (r".*topicI[dD](\(\))?", TOPIC_ID, ""),
    (r".*[pP]osition", position, ""),
    (r".*assignment\.offset\(\)|configState\.offset\(\)|taskOffset|currentOffset", str(CONFIG_OFFSET), "connect"),
    (r"taskProvidedOffset", "OffsetAndMetadata{offset=1789, leaderEpoch=null, metadata=''}", "connect"),
    (r".*[oO]ffset(\(\))?|.*nextOffset|.*recordOffset", str(OFFSET), ""),
    (r".*[oO]ffsets(\(\))?|offsetsPerTask|allConsumed", "{orders-1=OffsetAndMetadata{offset=1789, leaderEpoch=null, metadata=''}}", ""),
    (r".*errors|.*invalidTopics\(\)", "{orders=LEADER_NOT_AVAILABLE}", ""),
    (r".*(Errors\.forCode.*|[eE]rror(\(\))?|errorCode)", "NOT_COORDINATOR", ""),
    (r"(statusError|status\.error)\.exceptionName", "org.apache.kafka.common.errors.RecordTooLargeException", ""),
    (r".*heartbeatRequestName\(\)|requestDescription\(\)", HEARTBEAT, ""),
    (r"cause", "coordinator unavailable", "client"),
    (r"e|t|ex|throwable|exception|.*[eE]xception|cause", EXCEPTION, ""),
    (r".*toString\(\)", EXCEPTION, ""),
    (r".*([mM]essage|[rR]eason|msg)(\(\))?", "The coordinator is not available.", ""),
    (r".*[oO]ffsetsTopicReplicationFactor|.*transactionTopicReplicationFactor", "3", ""),
    (r".*operationName|.*\.name|context", "join-group", "broker"),
    (r".*(brokerState|_state|BrokerState\.\w+)", "RUNNING", "broker"),
]

#: Words around a hole of which no expression is known (`~` is the hole) to its value; the first that fits.
WORDS: list[tuple[str, Value]] = [
    (r"(existing member|owned by member|current memberId=|old member( id)?) ?~", OTHER_MEMBER),
    (r"[Mm]ember( with id| id| metadata for member)? ~|memberId[=:] ?~|previously mapped member ~|new member (id )?~|leader ~|MemberId ~", MEMBER),
    (r"Member: +~", MEMBER),
    (r"(groupInstanceId[=:] ?|instance id |group instance id )~", INSTANCE),
    (r"in group ~|joins group ~|to group ~|[Gg]roup(Id)?( with id|s? group)?[ =]~|group \(?'?~", GROUP),
    (r"generation ~|group epoch (to )?~|assignment for epoch ~|at generation ~", str(GENERATION)),
    (r"[eE]poch[ =]~", str(EPOCH)),
    (r"in ~ ?ms|~ ?ms\b|~ milliseconds|for ~ms", str(MILLIS)),
    (r"from ~ in |Offset load from ~|groups for ~ on|offsets for ~ on|deletion in ~|deleted in ~|record\(s\) to ~|marker to ~", offsets_partition),
    (r"(metadata|coordinator|records) (from|for|to) ~|[tT]he coordinator ~|coordinator ~ is already|load coordinator ~", offsets_partition),
    (r"Failed to mark group ~", GROUP),
    (r"Failed to mark ~|batch of ~|with ~ members|has ~ members|members, ~ of|~ (tombstone )?records|total of ~|~ topics|~ of", str(COUNT)),
    (r"~ assignment|~ partition|retries \(~|size: ~|~ bytes|~ outstanding|~ tasks|than ~,|Loaded ~", str(COUNT)),
    (r"replication factor '~", "3"),
    (r"\bID ~", TOPIC_ID),
    (r"\(reason: ~", f"Adding new member {MEMBER} with group instance id null; client reason: not provided"),
    (r"because ~\.", "the member session expired"),
    (r"[sS]tate[ =]~|in ~ state|from ~ to|to ~ state|transitioned to ~|transition from ~| to ~$", "RUNNING"),
    (r"topic-partition ~|topicPartition ~|for partition ~|from partition ~|[pP]artition '?~", "orders-1"),
    (r"([pP]artitions|owned\)|assigned\)):? *~", PARTITIONS),
    (r"([tT]asks|active|standby)( \w+| to revoke)?:? *~", f"[{STREAMS_TASK}]"),
    (r"group ~\n", GROUP),
    (r"[tT]opics [^~]{0,30}~|topics: ~", "[orders]"),
    (r"[Tt]opic[ =']+~", TOPIC),
    (r"offset[ :]~", str(OFFSET)),
    (r"connector[ ']+~|Connector[ ']+~", CONNECTOR),
    (r"(broker|node|Node) ~", str(BROKER)),
]
_OUT_OF_RANGE = f"Fetch position {position('3.9.0')} is out of range for partition orders-1"
_CREATABLE = f"CreatableTopic(name='{TOPIC}', numPartitions=6, replicationFactor=1, assignments=[], configs=[])"
_NOT_COORDINATOR = (
    f"{HEARTBEAT} failed because the group coordinator Optional[{node('4.0.0')}] is incorrect. Will attempt to find the coordinator again and retry"
)

#: Values of the holes of statements whose facts do not say enough, by template; "" leaves a hole to the tables above.
WHOLE: dict[str, tuple[Value, ...]] = {
    "[GroupId {}] Member {} fenced from the group because {}.": (GROUP, MEMBER, "the member session expired"),
    "[GroupId {}] {}.": (GROUP, f"Failed to compute a new target assignment for epoch {GENERATION}: null"),
    "Member[group.instance.id {}, member.id {}] in group {} has left, removing it from the group": (f"Some({INSTANCE})", MEMBER, GROUP),
    "given member.id {} is identified as a known static member {},but not matching the expected member.id {}": (MEMBER, INSTANCE, OTHER_MEMBER),
    "given member.id {} is identified as a known static member {}, but not matching the expected member.id {} during {}, "
    "will respond with instance fenced error": (MEMBER, INSTANCE, OTHER_MEMBER, "sync-group"),
    "Finished loading of metadata from {} with epoch {} and LoadSummary={}.": (
        offsets_partition,
        str(EPOCH),
        f"LoadSummary(startTimeMs=1, endTimeMs={MILLIS}, numRecords={COUNT}, numBytes=4017)",
    ),
    "Error processing create topic request {}": (_CREATABLE,),
    "CreateTopics result(s): {}": (f"{_CREATABLE}: SUCCESS",),
    "{} in {}ms: {}": (_NOT_COORDINATOR, str(MILLIS), "This is not the correct coordinator."),
    "Bootstrap broker {} disconnected": (node,),
    "{}: changing {} partition(s)": ("handleBrokerFenced", str(COUNT)),
    "{} failed due to inconsistent Protocol Name, received {} but expected {}": ("JoinGroup",),
    "These configurations '{}' were supplied but are not used yet.": ("[group.ids]",),
    "Processed {} total records, ran {} punctuators, polled {} times and committed {} total tasks since the last update {}ms ago": (
        "1",
        "2",
        "3",
        "4",
        "5",
    ),
    "Created topic {} on brokers at {}": (
        f"(name={TOPIC}, numPartitions=1, replicationFactor=3, replicasAssignments=null, configs={{}})",
        "10.77.0.12:9092",
    ),
    "{}, raising error to the application since no reset policy is configured": (_OUT_OF_RANGE,),
    "{}, resetting offset": (_OUT_OF_RANGE,),
    "Final assignment of partitions to consumers: \n{}": (f"{{{MEMBER}=[orders-0], {OTHER_MEMBER}=[orders-1]}}",),
    "{} Failed to close zombie {} due to {}, ignore and proceed": ("stream-thread [app-StreamThread-1]", "task 0_1", EXCEPTION),
    "{}: {}": ("Could not create internal topics within 60000 milliseconds.", EXCEPTION),
    "Member {} is triggering callbacks to release assignment {} and leave group": (MEMBER, PARTITIONS),
    "Unexpectedly ran out of {}s to revoke from worker {} while performing load-balancing revocations; worker appears to still be allocated "
    "{} instances, which is more than the intended allocation of {}": ("task",),
    "Client {} per-consumer assignment:\n\tprev owned active {}\n\tprev owned standby {}\n\tassigned active {}\n\trevoking active {}"
    "\n\tassigned standby {}\n": ("app-client", *[f"{{{MEMBER}=[{STREAMS_TASK}]}}"] * 5),
    "Client {} per-consumer assignment:\n\tprev owned active {}\n\tprev owned standby {}\n\tassigned active {}\n\trevoking active {}"
    "\tassigned standby {}\n": ("app-client", *[f"{{{MEMBER}=[{STREAMS_TASK}]}}"] * 5),
    "{} client nodes and {} consumers participating in this rebalance: \n{}.": ("1", "2", "app-client: [app-1, app-2]"),
    "Started {} with {} consumer groups.": ("MirrorCheckpointConnector-0", str(COUNT)),
    "{} checkpointing {} consumer groups {}->{}: {}.": ("MirrorCheckpointConnector-0", str(COUNT), "a", "b", f"[{GROUP}]"),
    "Started {} with {} topic-partitions.": ("MirrorSourceConnector", str(COUNT)),
    "Starting with {} previously uncommitted partitions.": (str(COUNT),),
    "{} replicating {} topic-partitions {}->{}: {}.": ("MirrorSourceConnector-0", str(COUNT), "a", "b", PARTITIONS),
    "{} connector configured for {}.": (CONNECTOR, "a->b"),
    "Failed to configure {} connector for {}": (CONNECTOR, "a->b"),
    "The following subscribed topics are not assigned to any members: {}": (f"[{TOPIC}]",),
    "{}ProducerId set to {} with epoch {}": ("", "1", str(EPOCH)),
    "Notifying assignor about the new {}": (f"Assignment(partitions={PARTITIONS})",),
    "Discovered {} coordinator {}": ("transaction", node),
    "ProducerId set to {} with epoch {}": ("1", str(EPOCH)),
    "Completed {}": (RESTART_PLAN,),
    "Executing {}": (RESTART_PLAN,),
    "Received {}": (RESTART_REQUEST,),
    "Received and enqueuing {}": (RESTART_REQUEST,),
    "Unexpected error while trying to process {}, the restart request will be skipped.": (RESTART_REQUEST,),
    "Could not load config provider class {}": ("com.example.Provider",),
    "Finished assignment for group at generation {}: {}": (str(GENERATION), group_assignment),
}
