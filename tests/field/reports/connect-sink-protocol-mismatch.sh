     http://localhost:8083/connectors/s3-sink/config | jq .


# [2022-03-18 09:36:56,787] WARN [s3-sink|task-0] [Consumer clientId=connect-topic-backup, groupId=connect-topic-backup] Error while fetching metadata with correlation id 2 : {s3_topic=LEADER_NOT_AVAILABLE} (org.apache.kafka.clients.NetworkClient:1213)
# [2022-03-18 09:36:56,787] INFO [s3-sink|task-0] [Consumer clientId=connect-topic-backup, groupId=connect-topic-backup] Cluster ID: PFO-nLmcSLilpJtISG15lw (org.apache.kafka.clients.Metadata:287)
# [2022-03-18 09:36:56,789] INFO [s3-sink|task-0] [Consumer clientId=connect-topic-backup, groupId=connect-topic-backup] Discovered group coordinator broker:9092 (id: 2147483646 rack: null) (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:849)
# [2022-03-18 09:36:56,791] INFO [s3-sink|task-0] [Consumer clientId=connect-topic-backup, groupId=connect-topic-backup] (Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:535)
# [2022-03-18 09:36:56,825] ERROR [s3-sink|task-0] [Consumer clientId=connect-topic-backup, groupId=connect-topic-backup] JoinGroup failed due to fatal error: The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty protocol type or empty protocol list. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:633)
# [2022-03-18 09:36:56,831] ERROR [s3-sink|task-0] WorkerSinkTask{id=s3-sink-0} Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted (org.apache.kafka.connect.runtime.WorkerTask:206)
# org.apache.kafka.common.errors.InconsistentGroupProtocolException: The group member's supported protocols are incompatible with those of existing members or first group member tried to join with empty protocol type or empty protocol list.
# [2022-03-18 09:36:56,833] INFO [s3-sink|task-0] [Consumer clientId=connect-topic-backup, groupId=connect-topic-backup] Resetting generation due to: consumer pro-actively leaving the group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:966)
# [2022-03-18 09:36:56,840] INFO [s3-sink|task-0] [Consumer clientId=connect-topic-backup, groupId=connect-topic-backup] Request joining group due to: consumer pro-actively leaving the group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:988)
# [2022-03-18 09:36:56,841] INFO [s3-sink|task-0] Metrics scheduler closed (org.apache.kafka.common.metrics.Metrics:676)
# [2022-03-18 09:36:56,841] INFO [s3-sink|task-0] Closing reporter org.apache.kafka.common.metrics.JmxReporter (org.apache.kafka.common.metrics.Metrics:680)
# [2022-03-18 09:36:56,842] INFO [s3-sink|task-0] Metrics reporters closed (org.apache.kafka.common.metrics.Metrics:686)
# [2022-03-18 09:36:56,847] INFO [s3-sink|task-0] App info kafka.consumer for connect-topic-backup unregistered (org.apache.kafka.common.utils.AppInfoParser:83)

log "Sending messages to topic s3_topic"
