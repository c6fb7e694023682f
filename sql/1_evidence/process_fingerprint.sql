-- One row per process whose release follows from its lines, by source line numbers and message wordings, if no line prints the version.
-- Reads: process_line
-- Grain: process_id
-- Each distinct hint (event.releases) votes for the releases that it allows. The releases with the most votes remain if they have nearly
-- all votes. A patched build, or a layout whose line numbers are wrong (clients of 1.0), matches no release, and none is guessed. Only the
-- last process run counts.
CREATE OR REPLACE TEMPORARY VIEW process_fingerprint (
  process_id    COMMENT 'Process',
  releases      COMMENT 'Releases that remain, oldest first',
  version_range COMMENT 'The same as a range, or as one release if only one remains',
  hints         COMMENT 'Distinct hints',
  agreeing      COMMENT 'Hints that match the remaining releases'
)
COMMENT 'One row per process whose release follows from its lines.'
AS
WITH kafka_release AS (
  -- Releases as arrays of four numbers, which compare correctly.
  SELECT release, slice(transform(concat(split(release, '[.]'), array('0', '0')), x -> try_cast(x AS BIGINT)), 1, 4) AS number
  FROM (
    SELECT explode(split('
    0.9.0.0 0.9.0.1 0.10.0.0 0.10.0.1 0.10.1.0 0.10.1.1 0.10.2.0 0.10.2.1 0.10.2.2 0.11.0.0 0.11.0.1 0.11.0.2 0.11.0.3 1.0.0 1.0.1
    1.0.2 1.1.0 1.1.1 2.0.0 2.0.1 2.1.0 2.1.1 2.2.0 2.2.1 2.2.2 2.3.0 2.3.1 2.4.0 2.4.1 2.5.0 2.5.1 2.6.0 2.6.1 2.6.2 2.6.3 2.7.0
    2.7.1 2.7.2 2.8.0 2.8.1 2.8.2 3.0.0 3.0.1 3.0.2 3.1.0 3.1.1 3.1.2 3.2.0 3.2.1 3.2.2 3.2.3 3.3.0 3.3.1 3.3.2 3.4.0 3.4.1 3.5.0
    3.5.1 3.5.2 3.6.0 3.6.1 3.6.2 3.7.0 3.7.1 3.8.0 3.8.1 3.9.0 3.9.1 4.0.0 4.1.1 4.2.0 4.3.1
    ', '\\s+')) AS release
  ) WHERE release <> ''
), last_run AS (
  SELECT process_id, max(instance) AS instance FROM process_line GROUP BY process_id
), hint AS (
  SELECT DISTINCT e.process_id, e.releases
  FROM process_line e JOIN last_run l ON e.process_id = l.process_id AND e.instance <=> l.instance
  WHERE e.releases IS NOT NULL AND e.event NOT IN ('kafka_version', 'kafka_commit_id')
), release_range AS (
  SELECT process_id, releases,
    slice(transform(concat(split(get(ends, 0), '[.]'), array('0', '0', '0')), x -> try_cast(nullif(x, '') AS BIGINT)), 1, 4) AS f,
    slice(transform(concat(split(get(ends, size(ends) - 1), '[.]'), array('0', '0', '0')),
      x -> try_cast(nullif(x, '') AS BIGINT)), 1, 4) AS t
  FROM (SELECT process_id, releases, split(part, '[.][.]') AS ends FROM hint LATERAL VIEW explode(split(trim(releases), ' +')) p AS part)
), release_vote AS (
  SELECT b.process_id, k.release, k.number, count(DISTINCT b.releases) AS votes
  FROM release_range b JOIN kafka_release k
    ON (b.f[0] IS NULL OR k.number >= b.f) AND (b.t[0] IS NULL OR k.number <= b.t)
  GROUP BY b.process_id, k.release, k.number
), ranked_release AS (
  SELECT *, max(votes) OVER (PARTITION BY process_id) AS most FROM release_vote
), hint_count AS (
  SELECT process_id, count(*) AS hints FROM hint GROUP BY process_id
), best_release AS (
  SELECT process_id, transform(sort_array(collect_list(struct(number, release))), x -> x.release) AS releases, max(most) AS agreeing
  FROM ranked_release WHERE votes = most GROUP BY process_id
)
SELECT r.process_id, r.releases,
  if(size(r.releases) = 1, r.releases[0], concat(r.releases[0], '..', element_at(r.releases, -1))) AS version_range, t.hints, r.agreeing
FROM best_release r JOIN hint_count t ON t.process_id = r.process_id
WHERE r.agreeing >= 3 AND r.agreeing >= 0.8 * t.hints
