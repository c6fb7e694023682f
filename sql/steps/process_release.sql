-- One row per process whose release is known: as numbers, so that releases can be compared.
-- Reads: process
-- Grain: process_id
-- Confluent numbers its builds by itself (5.x is 2.x of Apache Kafka, 6.0 to 6.2 are 2.6 to 2.8, 7.x is 3.x, 8.x is 4.x) and says so with -ccs or -ce.
CREATE OR REPLACE TEMPORARY VIEW process_release (
  process_id COMMENT 'Process',
  printed    COMMENT 'Release as printed',
  numbers    COMMENT 'Release of Apache Kafka as an array of numbers, which compare in order; 0.10.2.1 has four'
)
COMMENT 'One row per process whose release is known, as numbers.'
AS
SELECT process_id, kafka_version,
  CASE
    WHEN NOT (kafka_version LIKE '%-ccs%' OR kafka_version LIKE '%-ce%') THEN n
    WHEN n[0] = 5 THEN concat(array(2), slice(n, 2, 2))
    WHEN n[0] = 6 THEN concat(array(2, n[1] + 6), slice(n, 3, 1))
    WHEN n[0] >= 7 THEN concat(array(n[0] - 4), slice(n, 2, 2))
    ELSE n
  END
FROM (
  SELECT process_id, kafka_version, transform(split(regexp_extract(kafka_version, '^([0-9]+([.][0-9]+)+)', 1), '[.]'), x -> CAST(x AS INT)) AS n
  FROM process
  WHERE kafka_version RLIKE '^[0-9]+[.][0-9]+'
)
