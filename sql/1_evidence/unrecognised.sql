-- One row per record of a relevant logger, or of none but with the prefix of a Kafka class, that no pattern matches.
-- Reads: unrecognised_row
-- Grain: process_id, stream_pos
-- Public: yes
-- At INFO and above that is every such record. Below, only those of classes whose DEBUG lines are about groups and tasks: DEBUG lines of a fetcher or
-- a network client are counted in source_file.other.
CREATE OR REPLACE TEMPORARY VIEW unrecognised (
  process_id, path,
  line        COMMENT 'Line number, from 1',
  byte_offset COMMENT 'Offset of the record in the uncompressed file',
  stream_pos,
  ts          COMMENT 'When, by its own clock',
  level       COMMENT 'Level',
  logger      COMMENT 'Logger as printed',
  text        COMMENT 'The record, at most 2,000 characters'
)
AS
SELECT process_id, path, line, byte_offset, stream_pos, ts, level, logger, text FROM unrecognised_row
