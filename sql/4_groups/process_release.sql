-- One row per process whose release is known, as numbers that can be compared.
-- Reads: process
-- Grain: process_id
CREATE OR REPLACE TEMPORARY VIEW process_release (
  process_id,
  printed    COMMENT 'Release as printed',
  numbers    COMMENT 'Apache Kafka release as an array of numbers, which compare in order; 0.10.2.1 has four'
)
AS
SELECT process_id, kafka_version AS printed,
  -- The third number of a Confluent build counts Confluent's patch releases, which follow those of Apache Kafka closely.
  CASE WHEN version_how = 'confluent' THEN concat(transform(split(replace(version_range, '.x'), '[.]'), x -> try_cast(x AS INT)),
    slice(n, 3, 1)) ELSE n END AS numbers
FROM (
  SELECT process_id, kafka_version, version_how, version_range,
    transform(split(regexp_extract(kafka_version, '^([0-9]+([.][0-9]+)+)', 1), '[.]'), x -> try_cast(x AS INT)) AS n
  FROM process
  WHERE kafka_version RLIKE '^[0-9]+[.][0-9]+'
)
