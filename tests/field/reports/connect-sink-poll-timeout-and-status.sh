# [2021-10-28 10:08:16,546] WARN [elasticsearch-sink|task-0] Failed to check if index test-elasticsearch-sink exists due to java.net.ConnectException: Timeout connecting to [elasticsearch/172.29.0.3:9200]. Retrying attempt (1/1001) after backoff of 2771 ms (io.confluent.connect.elasticsearch.RetryUtil:171)
# [2021-10-28 10:08:21,321] WARN [elasticsearch-sink|task-0] Failed to check if index test-elasticsearch-sink exists due to java.net.ConnectException: Timeout connecting to [elasticsearch/172.29.0.3:9200]. Retrying attempt (2/1001) after backoff of 14057 ms (io.confluent.connect.elasticsearch.RetryUtil:171)
# [2021-10-28 10:08:36,381] WARN [elasticsearch-sink|task-0] Failed to check if index test-elasticsearch-sink exists due to java.net.ConnectException: Timeout connecting to [elasticsearch/172.29.0.3:9200]. Retrying attempt (3/1001) after backoff of 32798 ms (io.confluent.connect.elasticsearch.RetryUtil:171)
# [2021-10-28 10:09:10,185] WARN [elasticsearch-sink|task-0] Failed to check if index test-elasticsearch-sink exists due to java.net.ConnectException: Timeout connecting to [elasticsearch/172.29.0.3:9200]. Retrying attempt (4/1001) after backoff of 25636 ms (io.confluent.connect.elasticsearch.RetryUtil:171)
# [2021-10-28 10:09:36,826] WARN [elasticsearch-sink|task-0] Failed to check if index test-elasticsearch-sink exists due to java.net.ConnectException: Timeout connecting to [elasticsearch/172.29.0.3:9200]. Retrying attempt (5/1001) after backoff of 3721 ms (io.confluent.connect.elasticsearch.RetryUtil:171)
# [2021-10-28 10:09:41,550] WARN [elasticsearch-sink|task-0] Failed to check if index test-elasticsearch-sink exists due to java.net.ConnectException: Timeout connecting to [elasticsearch/172.29.0.3:9200]. Retrying attempt (6/1001) after backoff of 177688 ms (io.confluent.connect.elasticsearch.RetryUtil:171)
# [2021-10-28 10:12:40,242] WARN [elasticsearch-sink|task-0] Failed to check if index test-elasticsearch-sink exists due to java.net.ConnectException: Timeout connecting to [elasticsearch/172.29.0.3:9200]. Retrying attempt (7/1001) after backoff of 532500 ms (io.confluent.connect.elasticsearch.RetryUtil:171)
# [2021-10-28 10:13:15,182] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Member connector-consumer-elasticsearch-sink-0-59179556-62af-4a0a-9bc2-57bdf7ad7077 sending LeaveGroup request to coordinator broker:9092 (id: 2147483646 rack: null) due to consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with max.poll.records. (org.apache.kafka.clients.consumer.internals.AbstractCoordinator:1043)


# {
#   "name": "elasticsearch-sink",
#   "connector": {
#     "state": "RUNNING",
#     "worker_id": "connect:8083"
#   },
#   "tasks": [
#     {
#       "id": 0,
#       "state": "RUNNING",
#       "worker_id": "connect:8083"
#     }
#   ],
#   "type": "sink"
# }

# [2021-10-28 10:21:33,193] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Giving away all assigned partitions as lost since generation has been reset,indicating that consumer is no longer part of the group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:691)
# [2021-10-28 10:21:33,193] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Lost previously assigned partitions test-elasticsearch-sink-0 (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:326)
# [2021-10-28 10:21:33,194] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] (Re-)joining group (org.apache.kafka.clients.consumer.internals.AbstractCoordinator:538)
# [2021-10-28 10:21:33,197] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] (Re-)joining group (org.apache.kafka.clients.consumer.internals.AbstractCoordinator:538)
# [2021-10-28 10:21:36,199] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Successfully joined group with generation Generation{generationId=1, memberId='connector-consumer-elasticsearch-sink-0-402dc558-2279-4250-a144-3e0a925d140b', protocol='range'} (org.apache.kafka.clients.consumer.internals.AbstractCoordinator:594)
# [2021-10-28 10:21:36,199] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Finished assignment for group at generation 1: {connector-consumer-elasticsearch-sink-0-402dc558-2279-4250-a144-3e0a925d140b=Assignment(partitions=[test-elasticsearch-sink-0])} (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:626)
# [2021-10-28 10:21:36,201] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Successfully synced group in generation Generation{generationId=1, memberId='connector-consumer-elasticsearch-sink-0-402dc558-2279-4250-a144-3e0a925d140b', protocol='range'} (org.apache.kafka.clients.consumer.internals.AbstractCoordinator:758)
# [2021-10-28 10:21:36,202] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Notifying assignor about the new Assignment(partitions=[test-elasticsearch-sink-0]) (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:276)
# [2021-10-28 10:21:36,202] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Adding newly assigned partitions: test-elasticsearch-sink-0 (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:288)
# [2021-10-28 10:21:36,203] INFO [elasticsearch-sink|task-0] [Consumer clientId=connector-consumer-elasticsearch-sink-0, groupId=connect-elasticsearch-sink] Found no committed offset for partition test-elasticsearch-sink-0 (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:1362)
# [2021-10-28 11:08:08,976] INFO [Worker clientId=connect-1, groupId=connect-cluster] Session key updated (org.apache.kafka.connect.runtime.distributed.DistributedHerder:1582)
