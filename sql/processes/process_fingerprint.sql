-- One row per process whose release its lines tell: by lines of source and by wordings, when nothing prints the number.
-- Reads: process_line
-- Grain: process_id
-- Each different hint (event.releases) votes for the releases that it allows. Those with the most votes remain, if they have nearly all: a
-- build with patches, or a layout whose line numbers are wrong (clients of 1.0), agrees with no release, and is not guessed. Only the last
-- life counts.
CREATE OR REPLACE TEMPORARY VIEW process_fingerprint (
  process_id    COMMENT 'Process',
  releases      COMMENT 'Releases that remain, oldest first',
  version_range COMMENT 'The same as a range; one release when only that remains',
  hints         COMMENT 'Different hints',
  agreeing      COMMENT 'Hints that the remaining releases agree with'
)
COMMENT 'One row per process whose release its lines tell.'
AS
WITH known AS (
  -- Releases as arrays of four numbers, which compare in order.
  SELECT release, slice(transform(concat(split(release, '[.]'), array('0', '0')), x -> try_cast(x AS BIGINT)), 1, 4) AS number
  FROM (
    SELECT explode(split('
    0.9.0.0 0.9.0.1 0.10.0.0 0.10.0.1 0.10.1.0 0.10.1.1 0.10.2.0 0.10.2.1 0.10.2.2 0.11.0.0 0.11.0.1 0.11.0.2 0.11.0.3 1.0.0 1.0.1
    1.0.2 1.1.0 1.1.1 2.0.0 2.0.1 2.1.0 2.1.1 2.2.0 2.2.1 2.2.2 2.3.0 2.3.1 2.4.0 2.4.1 2.5.0 2.5.1 2.6.0 2.6.1 2.6.2 2.6.3 2.7.0
    2.7.1 2.7.2 2.8.0 2.8.1 2.8.2 3.0.0 3.0.1 3.0.2 3.1.0 3.1.1 3.1.2 3.2.0 3.2.1 3.2.2 3.2.3 3.3.0 3.3.1 3.3.2 3.4.0 3.4.1 3.5.0
    3.5.1 3.5.2 3.6.0 3.6.1 3.6.2 3.7.0 3.7.1 3.8.0 3.8.1 3.9.0 3.9.1 4.0.0 4.1.1 4.2.0 4.3.1
    ', '\\s+')) AS release
  ) WHERE release <> ''
), life AS (
  SELECT process_id, max(instance) AS instance FROM process_line GROUP BY process_id
), hint AS (
  SELECT DISTINCT e.process_id, e.releases
  FROM process_line e JOIN life l ON e.process_id = l.process_id AND e.instance <=> l.instance
  WHERE e.releases IS NOT NULL AND e.event NOT IN ('kafka_version', 'kafka_commit_id')
), bound AS (
  SELECT process_id, releases,
    slice(transform(concat(split(get(ends, 0), '[.]'), array('0', '0', '0')), x -> try_cast(nullif(x, '') AS BIGINT)), 1, 4) AS f,
    slice(transform(concat(split(get(ends, size(ends) - 1), '[.]'), array('0', '0', '0')),
      x -> try_cast(nullif(x, '') AS BIGINT)), 1, 4) AS t
  FROM (SELECT process_id, releases, split(part, '[.][.]') AS ends FROM hint LATERAL VIEW explode(split(trim(releases), ' +')) p AS part)
), vote AS (
  SELECT b.process_id, k.release, k.number, count(DISTINCT b.releases) AS votes
  FROM bound b JOIN known k
    ON (b.f[0] IS NULL OR k.number >= b.f) AND (b.t[0] IS NULL OR k.number <= b.t)
  GROUP BY b.process_id, k.release, k.number
), best AS (
  SELECT *, max(votes) OVER (PARTITION BY process_id) AS most FROM vote
), total AS (
  SELECT process_id, count(*) AS hints FROM hint GROUP BY process_id
), remaining AS (
  SELECT process_id, transform(sort_array(collect_list(struct(number, release))), x -> x.release) AS releases, max(most) AS agreeing
  FROM best WHERE votes = most GROUP BY process_id
)
SELECT r.process_id, r.releases,
  if(size(r.releases) = 1, r.releases[0], concat(r.releases[0], '..', element_at(r.releases, -1))) AS version_range, t.hints, r.agreeing
FROM remaining r JOIN total t ON t.process_id = r.process_id
WHERE r.agreeing >= 3 AND r.agreeing >= 0.8 * t.hints
