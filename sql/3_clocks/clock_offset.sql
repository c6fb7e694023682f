-- One row per process and the reference of its island, and per pair of processes with direct evidence: the offset between their clocks.
-- Reads: member_round, epoch_member, epoch_generation, client_event, filtered_log, process_cluster, event_row, copied_log, damaged_line
-- Reads: process_start, process_life
-- Computed: forensics.clocks.clock_offset
-- Grain: process_id, reference_process_id
-- Public: yes
-- The reference is a broker, if possible. Nothing is compared across islands. A process whose clock stepped is an island of its own. The times of a
-- process are placed on the clock of its island's reference if the offset is known to within `clock_skew_ms`, else on its own: otherwise a duration
-- between its lines and another's would consist of the uncertainty alone. Of two processes that contradict each other, the one that agrees with fewer
-- others stepped; both are suspect, if they agree with equally many.
CREATE OR REPLACE TEMPORARY VIEW clock_offset (
  process_id STRING,
  reference_process_id STRING COMMENT 'Process that it is compared with',
  lo_ms BIGINT COMMENT 'Its clock is ahead of the reference''s by at least this, milliseconds; NULL: no lower bound',
  hi_ms BIGINT COMMENT 'Its clock is ahead of the reference''s by at most this, milliseconds; NULL: no upper bound',
  constraints BIGINT COMMENT 'Pairs of lines that directly bound the offset of these two',
  stepped BOOLEAN COMMENT 'True when no constant offset fits the lines',
  suspect_time_zone STRING COMMENT 'Probable time zone error, as +HH:MM: a multiple of 15 minutes, not of a day, within the bounds, or
    of 30 minutes near them; NULL: none',
  is_island_reference BOOLEAN COMMENT 'True for the row whose reference is that of the process''s island; other rows lack the following columns',
  clock_id STRING COMMENT 'Process whose clock its times are placed on: the reference of its island, or itself',
  ahead_ms BIGINT COMMENT 'How far its clock is ahead of that one, milliseconds (middle of the bounds)',
  is_steady BOOLEAN COMMENT 'False if that clock stepped',
  step STRUCT<how: STRING, partner: STRING, by_ms: BIGINT, times: BIGINT, witness: ARRAY<STRING>, set_back: ARRAY<BIGINT>, least_ms: BIGINT,
    places: ARRAY<STRUCT<before_pos: BIGINT, after_pos: BIGINT, hi_ms: BIGINT>>>
    COMMENT 'How its own clock stepped; NULL: it did not. how: set_back (its times go back), files_overlap (they do where a file begins) or
    contradicted (no steady offset to the partner fits); by_ms: how far, or by how much the bounds contradict each other; times: how often; witness:
    the fewest lines that cannot all be true with a steady clock; set_back: positions in its log before which it was set back; least_ms: it stepped
    by at least this at an unknown position; places: it was set after the line at before_pos and before that at after_pos, by at most hi_ms (NULL:
    unknown)'
)
