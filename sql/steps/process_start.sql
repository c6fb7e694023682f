-- One row per process that was seen starting: where in its log stream.
-- Reads: event_row
-- Grain: process_id
-- A start is the first line that a JVM prints, or, where a log begins later or a release prints none, a herder that starts again.
-- A log that begins in the middle of a life has instance 0 before its first start.
CREATE OR REPLACE TEMPORARY VIEW process_start (
  process_id COMMENT 'Process (one log stream)',
  starts     COMMENT 'Positions in the stream at which a JVM says that it starts, ascending',
  start_lines COMMENT 'Position, time, event id and event of each start, ascending'
)
COMMENT 'One row per process that was seen starting: where in its log stream.'
AS
WITH mark AS (
  SELECT process_id, stream_pos, ts, event_id, event, coalesce(group_id, '-') AS group_id,
    count_if(event = 'process_started') OVER (PARTITION BY process_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS life
  FROM (
    SELECT process_id, event, group_id, at.stream_pos, at.ts, at.event_id
    FROM (
      SELECT process_id, event, group_id,
        -- "Kafka Connect worker initializing" comes a moment before the line that every release prints: the life begins there.
        CASE WHEN event = 'process_started' AND lag(event) OVER w = 'process_initializing' THEN lag(struct(stream_pos, ts, event_id)) OVER w
          ELSE struct(stream_pos, ts, event_id) END AS at
      FROM event_row
      WHERE event IN ('process_started', 'herder_starting', 'process_initializing')
      WINDOW w AS (PARTITION BY process_id ORDER BY stream_pos)
    )
    WHERE event <> 'process_initializing'
  )
), numbered AS (
  -- MirrorMaker 2 starts several herders in one JVM, one a group.
  SELECT *, row_number() OVER (PARTITION BY process_id, life, event, group_id ORDER BY stream_pos) AS nth FROM mark
), start AS (
  SELECT process_id, struct(stream_pos, ts, event_id, event) AS line
  FROM numbered
  WHERE event = 'process_started' OR nth > 1 OR life = 0
)
SELECT process_id, sort_array(collect_list(line.stream_pos)), array_sort(collect_list(line))
FROM start
GROUP BY process_id
