-- One row per process whose release is known: as numbers, so that releases can be compared.
-- Reads: process
-- Grain: process_id
CREATE OR REPLACE TEMPORARY VIEW process_release (
  process_id COMMENT 'Process',
  printed    COMMENT 'Release as printed',
  numbers    COMMENT 'Release of Apache Kafka as an array of numbers, which compare in order; 0.10.2.1 has four'
)
COMMENT 'One row per process whose release is known, as numbers.'
AS
SELECT process_id, kafka_version AS printed,
  -- The third number of a build of Confluent counts its own patches, which follow those of Apache Kafka closely.
  CASE WHEN version_how = 'confluent' THEN concat(transform(split(replace(version_range, '.x'), '[.]'), x -> try_cast(x AS INT)),
    slice(n, 3, 1)) ELSE n END AS numbers
FROM (
  SELECT process_id, kafka_version, version_how, version_range,
    transform(split(regexp_extract(kafka_version, '^([0-9]+([.][0-9]+)+)', 1), '[.]'), x -> try_cast(x AS INT)) AS n
  FROM process
  WHERE kafka_version RLIKE '^[0-9]+[.][0-9]+'
)
