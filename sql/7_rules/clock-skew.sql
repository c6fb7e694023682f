-- One row per process whose clock stepped or differs from that of most others (from its island's reference if there is no majority), or
-- whose log was read in the wrong time zone.
-- Reads: clock_offset, clock_bound, range_row, process_life
WITH clock_lead AS (
  SELECT process_id, reference_process_id AS island, lo_ms, hi_ms, suspect_time_zone FROM clock_offset
  WHERE is_island_reference AND NOT stepped AND process_id <> reference_process_id
  UNION
  SELECT reference_process_id, reference_process_id, 0L, 0L, CAST(NULL AS STRING) FROM clock_offset
  WHERE is_island_reference
), agreement_count AS (
  -- The number of clocks that agree with each one, including itself, and whether the broker's is among them.
  SELECT a.island, a.process_id, a.lo_ms, a.hi_ms, count(*) AS alike, max(k.process_id) IS NOT NULL AS is_with_broker FROM clock_lead a
  JOIN clock_lead b ON b.island = a.island AND a.lo_ms - b.hi_ms <= clock_skew_ms AND b.lo_ms - a.hi_ms <= clock_skew_ms
  LEFT JOIN (SELECT DISTINCT process_id FROM process_life WHERE is_broker) k ON k.process_id = a.island AND b.process_id = a.island
  GROUP BY a.island, a.process_id, a.lo_ms, a.hi_ms
), central_clock AS (
  -- If a majority agrees with one clock, a clock that differs from it differs from the majority. Unless a majority includes the broker, it is unknown
  -- which clock is right: several hosts of one kind may be wrong in the same way.
  SELECT island, min(struct(NOT is_most AS is_few, process_id <> island AS is_other, hi_ms - lo_ms AS width_ms, process_id, lo_ms, hi_ms,
    NOT is_most OR NOT is_with_broker AS is_open)) AS of
  FROM (SELECT *, coalesce(2 * alike > count(*) OVER (PARTITION BY island), false) AS is_most FROM agreement_count) GROUP BY island
), offset_to_centre AS (
  SELECT o.process_id, o.island, c.of.process_id AS reference_process_id, o.lo_ms - c.of.hi_ms AS lo_ms, o.hi_ms - c.of.lo_ms AS hi_ms,
    o.suspect_time_zone,
    c.of.process_id = o.island AS is_reference, c.of.is_open AS is_open,
    CASE WHEN ceil((o.lo_ms - c.of.hi_ms) / 900000) <= floor((o.hi_ms - c.of.lo_ms) / 900000) THEN ceil((o.lo_ms - c.of.hi_ms) / 900000)
      WHEN ceil((o.lo_ms - c.of.hi_ms - zone_skew_ms) / (2 * 900000)) <= floor((o.hi_ms - c.of.lo_ms + zone_skew_ms) / (2 * 900000))
        THEN 2 * ceil((o.lo_ms - c.of.hi_ms - zone_skew_ms) / (2 * 900000)) END AS quarters
  FROM clock_lead o JOIN central_clock c ON c.island = o.island WHERE o.process_id <> c.of.process_id
), offset_with_zone AS (
  SELECT process_id, island, reference_process_id, lo_ms, hi_ms, is_open,
    CASE WHEN is_reference THEN suspect_time_zone
      WHEN quarters % 96 <> 0 AND hi_ms - lo_ms < 900000
        THEN concat(CASE WHEN quarters < 0 THEN '-' ELSE '+' END, lpad(CAST(abs(quarters) DIV 4 AS STRING), 2, '0'), ':',
        lpad(CAST(abs(quarters) % 4 * 15 AS STRING), 2, '0')) END AS suspect_time_zone
  FROM offset_to_centre
), wrong_offset AS (
  SELECT * FROM offset_with_zone WHERE suspect_time_zone IS NOT NULL OR lo_ms > clock_skew_ms OR hi_ms < -clock_skew_ms
), bounding_line AS (
  -- The lines that bound a clock on either side, through other processes if no message links the two directly: of two members of a large group,
  -- through the reference of their island.
  SELECT l.process_id, l.reference_process_id, flatten(collect_list(CASE WHEN l.side = 'upper' THEN l.ids END)) AS upper_ids,
    flatten(collect_list(CASE WHEN l.side = 'lower' THEN l.ids END)) AS lower_ids,
    array_sort(array_distinct(flatten(collect_list(CASE WHEN l.side = 'upper through' THEN l.ids END)))) AS upper_through_ids,
    array_sort(array_distinct(flatten(collect_list(CASE WHEN l.side = 'lower through' THEN l.ids END)))) AS lower_through_ids
  FROM (
    SELECT e.process_id, e.reference_process_id, e.side, array_distinct(coalesce(b.witness, b.least_witness)) AS ids
    FROM (
      SELECT o.process_id, o.reference_process_id, e.side, e.f, e.t FROM wrong_offset o
      LATERAL VIEW inline(array(
        named_struct('side', 'upper', 'f', reference_process_id, 't', process_id),
        named_struct('side', 'lower', 'f', process_id, 't', reference_process_id),
        named_struct('side', 'upper through', 'f', reference_process_id, 't', island),
        named_struct('side', 'upper through', 'f', island, 't', process_id),
        named_struct('side', 'lower through', 'f', process_id, 't', island),
        named_struct('side', 'lower through', 'f', island, 't', reference_process_id))) e AS side, f, t
    ) e
    JOIN clock_bound b ON b.from_process_id = e.f AND b.to_process_id = e.t
  ) l
  GROUP BY l.process_id, l.reference_process_id
), clock_finding AS (
  SELECT o.process_id, o.reference_process_id, o.lo_ms, o.hi_ms, o.suspect_time_zone, o.is_open, greatest(o.lo_ms, -o.hi_ms) AS apart_ms,
    CASE WHEN size(b.upper_ids) > 0 THEN b.upper_ids ELSE coalesce(b.upper_through_ids, CAST(array() AS ARRAY<STRING>)) END AS upper_ids,
    CASE WHEN size(b.lower_ids) > 0 THEN b.lower_ids ELSE coalesce(b.lower_through_ids, CAST(array() AS ARRAY<STRING>)) END AS lower_ids
  FROM wrong_offset o LEFT JOIN bounding_line b ON b.process_id = o.process_id AND b.reference_process_id = o.reference_process_id
), clock_step AS (
  -- A few lines that go back are rather excerpts that were pasted in another order, or lines of several programs. So are files that overlap.
  SELECT o.process_id, o.step.how AS how, o.step.partner AS partner, o.step.by_ms AS by_ms, o.step.times AS times, o.step.witness AS witness,
    o.step.how = 'files_overlap' OR o.step.how = 'set_back' AND coalesce(n.records < clock_step_records, false) AS is_short
  FROM clock_offset o LEFT JOIN (SELECT process_id, sum(records) AS records FROM range_row GROUP BY process_id) n ON n.process_id = o.process_id
  WHERE o.is_island_reference AND o.step IS NOT NULL
), time_jump AS (
  SELECT process_id, path, unix_millis(first_ts) AS from_ms, shift_ms, shift_why, shift_ids, repeats,
    date_format(timestamp_millis(unix_millis(first_ts) - shift_ms), 'yyyy-MM-dd HH:mm:ss') AS printed_time,
    -- Parts in the wrong order are reported once, and so are repeated parts and lines with a wrong time.
    count(*) OVER (PARTITION BY process_id, path, shift_why) AS parts,
    row_number() OVER (PARTITION BY process_id, path, shift_why ORDER BY file_id, range_start) AS nth
  FROM range_row WHERE shift_why <> 'midnight'
), finding_row AS (
  SELECT CASE WHEN suspect_time_zone IS NOT NULL OR apart_ms >= clock_skew_large_ms THEN 'warning' ELSE 'note' END AS severity,
    'proved' AS verdict, CASE WHEN suspect_time_zone IS NOT NULL AND is_open THEN concat(process_id, ' or ', reference_process_id)
      ELSE process_id END AS subject, CAST(NULL AS BIGINT) AS from_ms,
    CASE WHEN suspect_time_zone IS NULL THEN 'apart' WHEN is_open THEN 'zones_differ' ELSE 'wrong_time_zone' END AS code, process_id,
    reference_process_id AS other_process_id, lo_ms, hi_ms, apart_ms AS by_ms, suspect_time_zone AS zone_offset,
    CAST(NULL AS BIGINT) AS times, CAST(NULL AS STRING) AS path, CAST(NULL AS STRING) AS printed_time, CAST(NULL AS BIGINT) AS shift_ms,
    transform(upper_ids, x -> named_struct('role', 'upper bound of the clock offset', 'event_id', x))
      || transform(array_except(lower_ids, upper_ids), x -> named_struct('role', 'lower bound of the clock offset', 'event_id', x)) AS proof
  FROM clock_finding
  UNION ALL
  SELECT CASE WHEN s.is_short THEN 'note' ELSE 'warning' END, CASE WHEN s.is_short THEN 'undecided' ELSE 'proved' END,
    CASE WHEN o.process_id IS NOT NULL THEN concat(s.process_id, ' or ', s.partner) ELSE s.process_id END, NULL,
    CASE WHEN s.is_short THEN 'order_unclear' WHEN s.how = 'set_back' THEN 'set_back'
      WHEN o.process_id IS NOT NULL THEN 'contradict_each_other' ELSE 'contradicted' END AS code,
    s.process_id, s.partner, NULL, NULL, s.by_ms, NULL, s.times, NULL, NULL, NULL,
    transform(s.witness, x -> named_struct('role', 'cannot be true with a steady clock', 'event_id', x)) AS proof
  FROM clock_step s
  LEFT JOIN clock_step o ON o.process_id = s.partner AND o.partner = s.process_id AND s.how = 'contradicted' AND o.how = 'contradicted'
  -- A clock that contradicts one that was set back is not suspect for that reason.
  LEFT ANTI JOIN clock_step b ON s.how = 'contradicted' AND b.process_id = s.partner AND b.how <> 'contradicted'
  -- If two clocks contradict only each other, either may have stepped: that is one finding.
  WHERE o.process_id IS NULL OR s.process_id < o.process_id
  UNION ALL
  SELECT CASE WHEN shift_why = 'time_zone' THEN 'warning' ELSE 'note' END, 'undecided', process_id, from_ms,
    CASE shift_why WHEN 'daylight_saving' THEN 'daylight_saving' WHEN 'time_zone' THEN 'time_zone_changed'
      WHEN 'earlier_part' THEN 'parts_out_of_order' WHEN 'repeated' THEN 'lines_repeated' WHEN 'doubled' THEN 'lines_doubled'
      WHEN 'wrong_time' THEN 'wrong_time' WHEN 'unordered' THEN 'lines_sorted' ELSE 'another_log' END AS code,
    process_id, NULL, NULL, NULL, NULL, NULL,
    CASE WHEN shift_why = 'doubled' THEN repeats WHEN shift_why IN ('earlier_part', 'repeated', 'wrong_time') THEN parts END, path,
    printed_time, shift_ms,
    transform(shift_ids, x -> named_struct('role',
      CASE shift_why WHEN 'doubled' THEN 'appears twice in the log' WHEN 'unordered' THEN 'not in the order of their times'
        ELSE 'printed around the jump' END, 'event_id', x)) AS proof
  FROM time_jump WHERE nth = 1 OR shift_why NOT IN ('earlier_part', 'repeated', 'wrong_time')
)
SELECT severity, verdict, CAST(NULL AS STRING) AS kafka_cluster, CAST(NULL AS STRING) AS group_id, subject, from_ms, CAST(NULL AS BIGINT) AS to_ms,
  code, struct(process_id, other_process_id, lo_ms, hi_ms, by_ms, zone_offset, times, path, printed_time, shift_ms) AS facts, proof
FROM finding_row
