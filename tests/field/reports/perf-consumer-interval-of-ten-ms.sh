max.poll.interval.ms=10

max.poll.records=500

# We have found the below results

# -----------RESULT-----------
# [2022-10-18 19:31:23,067] WARN [Consumer clientId=perf-consumer-client, groupId=perf-consumer-70488] consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with max.poll.records. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
# [2022-10-18 19:31:23,088] WARN [Consumer clientId=perf-consumer-client, groupId=perf-consumer-70488] Synchronous auto-commit of offsets {performance_tuning-8=OffsetAndMetadata{offset=0, leaderEpoch=null, metadata=''}, performance_tuning-9=OffsetAndMetadata{offset=0, leaderEpoch=null, metadata=''}, performance_tuning-6=OffsetAndMetadata{offset=500, leaderEpoch=0, metadata=''}} failed: Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment; it is likely that the consumer was kicked out of the group. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
# start.time = 2022-10-18 19:31:22:461
# end.time = 2022-10-18 19:31:23:507
# data.consumed.in.MB = 24.7246
# rebalance.time.ms = 516
# fetch.time.ms = 530
