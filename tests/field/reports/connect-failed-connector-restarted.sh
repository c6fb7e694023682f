# [2021-04-29 14:36:38,175] ERROR [Worker clientId=connect-1, groupId=connect-cluster] Failed to transition connector to target state (org.apache.kafka.connect.runtime.distributed.DistributedHerder)
# org.apache.kafka.connect.errors.ConnectException: WorkerConnector{id=sftp-source-csv} Cannot transition connector to PAUSED since it has failed
#         at org.apache.kafka.connect.runtime.WorkerConnector.doTransitionTo(WorkerConnector.java:326)
#         at org.apache.kafka.connect.runtime.WorkerConnector.doRun(WorkerConnector.java:141)
#         at java.base/java.lang.Thread.run(Thread.java:834)

log "Try to resume (equivalent of control center pause play)"
curl --request PUT \
  --url http://localhost:8083/connectors/sftp-source-csv/resume

# [2021-04-29 14:35:53,930] INFO [Worker clientId=connect-1, groupId=connect-cluster] Connector sftp-source-csv target state change (org.apache.kafka.connect.runtime.distributed.DistributedHerder)
# [2021-04-29 14:35:53,931] INFO Setting connector sftp-source-csv state to STARTED (org.apache.kafka.connect.runtime.Worker)
# [2021-04-29 14:35:53,931] ERROR [Worker clientId=connect-1, groupId=connect-cluster] Failed to transition connector to target state (org.apache.kafka.connect.runtime.distributed.DistributedHerder)
# org.apache.kafka.connect.errors.ConnectException: WorkerConnector{id=sftp-source-csv} Cannot transition connector to STARTED since it has failed
#         at org.apache.kafka.connect.runtime.WorkerConnector.doTransitionTo(WorkerConnector.java:326)
#         at org.apache.kafka.connect.runtime.WorkerConnector.doRun(WorkerConnector.java:141)
#         at java.base/java.lang.Thread.run(Thread.java:834)

log "Try to restart (no equivalent for control center, it works fine)"
curl --request POST \
  --url http://localhost:8083/connectors/sftp-source-csv/restart

# [2021-04-29 14:38:31,513] INFO Stopping connector sftp-source-csv (org.apache.kafka.connect.runtime.Worker)
# [2021-04-29 14:38:31,513] INFO Scheduled shutdown for WorkerConnector{id=sftp-source-csv} (org.apache.kafka.connect.runtime.WorkerConnector)
# [2021-04-29 14:38:31,514] INFO Completed shutdown for WorkerConnector{id=sftp-source-csv} (org.apache.kafka.connect.runtime.WorkerConnector)
# [2021-04-29 14:38:31,515] INFO [Worker clientId=connect-1, groupId=connect-cluster] Starting connector sftp-source-csv (org.apache.kafka.connect.runtime.distributed.DistributedHerder)
# [2021-04-29 14:38:31,515] INFO Creating connector sftp-source-csv of type io.confluent.connect.sftp.SftpCsvSourceConnector (org.apache.kafka.connect.runtime.Worker)
# [2021-04-29 14:38:31,518] INFO Instantiated connector sftp-source-csv with version 0.0.0.0 of type class io.confluent.connect.sftp.SftpCsvSourceConnector (org.apache.kafka.connect.runtime.Worker)
# [2021-04-29 14:38:31,519] INFO Finished creating connector sftp-source-csv (org.apache.kafka.connect.runtime.Worker)
