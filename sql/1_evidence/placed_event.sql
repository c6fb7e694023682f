-- One row per event, with the Kafka cluster that its process belonged to, and the group of its Connect worker.
-- Reads: event, process_cluster
-- Grain: event_id
-- Kept: no
CREATE OR REPLACE TEMPORARY VIEW placed_event
AS
SELECT e.*, c.kafka_cluster, c.worker_group_id FROM event e
JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
  AND coalesce(e.stream_pos < c.to_pos, true)
