-- One row per topic id, which brokers print for the groups that they assign (KIP-848), with its topic.
-- Reads: event, snapshot
-- Grain: topic_id
CREATE OR REPLACE TEMPORARY VIEW topic_name (
  topic_id, topic
)
AS
SELECT topic_id, max(topic) AS topic
FROM (
  SELECT topic_id, topic FROM snapshot WHERE event = 'topic_described'
  UNION ALL
  SELECT topic_id, topic FROM event WHERE event = 'topic_named'
  UNION ALL
  -- The subscription of a group contains several.
  SELECT x.topic_ids, x.topics FROM event LATERAL VIEW explode(arrays_zip(topic_ids, topics)) p AS x WHERE event = 'topic_named'
)
WHERE topic_id IS NOT NULL AND topic IS NOT NULL GROUP BY topic_id
