-- One row per ordered pair of processes connected by lines, or by a chain of up to four such pairs: how far the second clock can be ahead
-- of the first.
-- Reads: member_round, epoch_member, epoch_generation, client_event, filtered_log, process_cluster, event_row, copied_log, damaged_line
-- Reads: process_start, process_life
-- Computed: forensics.clocks.clock_bound
-- Grain: from_process_id, to_process_id
-- If no constant offset satisfies all lines of a pair, a clock stepped. A clock that stepped, or was set back, is compared with no other.
-- Contradictions within `clock_jitter_ms` come from drift, not steps: they only widen the bound. Chains through a cycle of bounds that no clocks can
-- satisfy are left out. Members of a large group (`clock_partners_most`) have rows with other processes, but neither with each other nor with
-- themselves: a chain between two of them is one to another process and one from it.
CREATE OR REPLACE TEMPORARY VIEW clock_bound (
  from_process_id STRING COMMENT 'Process',
  to_process_id STRING COMMENT 'Process whose clock is measured',
  hi_ms BIGINT COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds; NULL: a clock stepped',
  witness ARRAY<STRING> COMMENT 'Lines of the chain, two per link',
  constraints BIGINT COMMENT 'How many pairs of lines of these two bound it; NULL: none',
  least_ms BIGINT COMMENT 'The bound from the tightest of them, as if the clocks were steady',
  least_witness ARRAY<STRING> COMMENT 'The tightest pair of lines',
  impossible BOOLEAN COMMENT 'True when no constant offset satisfies this bound and that of the other direction: a clock stepped, or a link is wrong',
  is_suspect BOOLEAN COMMENT 'True if that is so and the first one agrees with no more processes than the second: it is the one that stepped'
)
