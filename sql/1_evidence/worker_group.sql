-- One row per process run with exactly one Connect worker: the worker's group.
-- Reads: event
-- Grain: process_id, instance
-- Lines of Worker and of tasks have no group id in any release, lines of the herder none before 2.3. A JVM with several herders (MirrorMaker 2) is
-- excluded, because the group of such a line would be ambiguous.
CREATE OR REPLACE TEMPORARY VIEW worker_group (
  process_id, instance, group_id, client_id
)
AS
SELECT g.process_id, g.instance, max(g.group_id) AS group_id, max(g.client_id) AS client_id
FROM (
  SELECT process_id, instance, group_id, client_id FROM event WHERE client_kind = 'Worker' AND group_id IS NOT NULL
  UNION ALL
  SELECT process_id, instance, config['group.id'], NULL FROM event WHERE event = 'config_dumped' AND component = 'DistributedConfig'
) g
WHERE g.group_id IS NOT NULL GROUP BY g.process_id, g.instance HAVING count(DISTINCT g.group_id) = 1
