-- One row per record with a name that contradicts all other lines: for example, only one line of a client names a group that differs in one letter.
-- Reads: event_row
-- Grain: event_id
-- A process does not change the name of a group, a client or a member for one line and then print the old name again. Such a line is damaged, so it
-- proves nothing; the other lines are read without it. A real second member prints several lines, or a name that is not nearly the same. Ids of
-- members are unique: two that agree in one half are the same, and each belongs to one group.
CREATE OR REPLACE TEMPORARY VIEW damaged_line (
  event_id, process_id, stream_pos,
  value    COMMENT 'What the line prints',
  expected COMMENT 'What the other lines print'
)
AS
WITH identity AS (
  SELECT event_id, process_id, stream_pos, i.place, i.value, i.is_unique
  FROM (
    SELECT event_id, process_id, stream_pos, explode(array(
      CASE WHEN client_kind IS NOT NULL AND client_id IS NOT NULL THEN named_struct(
        'place', concat_ws('|', process_id, 'group of', client_kind, client_id), 'value', group_id, 'is_unique', false) END,
      CASE WHEN client_kind = 'Worker' OR client_kind IS NOT NULL AND task IS NOT NULL THEN named_struct(
        'place', concat_ws('|', process_id, client_kind, CASE WHEN client_kind = 'Worker' THEN group_id ELSE task END), 'value', client_id,
        'is_unique', false) END,
      CASE WHEN offsets_partition IS NOT NULL THEN named_struct(
        'place', concat_ws('|', process_id, 'group on', offsets_partition), 'value', group_id, 'is_unique', false) END,
      CASE WHEN length(member_id) > 36 THEN named_struct('place', concat('group of ', member_id), 'value', group_id, 'is_unique', true) END,
      CASE WHEN length(member_id) > 36 THEN named_struct(
        'place', concat('member ', substr(member_id, -18)), 'value', member_id, 'is_unique', true) END,
      CASE WHEN length(member_id) > 36 THEN named_struct(
        'place', concat(substr(member_id, 1, length(member_id) - 18), ' member'), 'value', member_id, 'is_unique', true) END)) AS i
    FROM event_row WHERE category <> 'snapshot'
  )
  WHERE i.value <> '' AND i.place IS NOT NULL
), printed AS (
  SELECT place, value, is_unique, count(*) AS lines, min(event_id) AS event_id, min(process_id) AS process_id, min(stream_pos) AS from_pos,
    max(stream_pos) AS to_pos
  FROM identity GROUP BY place, value, is_unique
), contradiction AS (
  SELECT a.event_id, a.process_id, a.from_pos, a.value, b.value AS expected
  FROM printed a JOIN printed b ON b.place = a.place AND b.lines > 1 AND b.value <> a.value
  WHERE a.lines = 1 AND levenshtein(a.value, b.value) <= least(2, length(b.value) DIV 3)
    AND (a.is_unique OR (b.lines >= 10 OR b.from_pos < a.from_pos AND a.from_pos < b.to_pos)
      -- Names are often numbered: of two that differ in a number, one may be another group or worker, unless the other has many lines.
      AND (b.lines >= 50 OR regexp_replace(a.value, '[0-9]+', '0') <> regexp_replace(b.value, '[0-9]+', '0')))
  UNION ALL
  -- Bytes that are not text. A name in another encoding has them in all of its lines.
  SELECT min(event_id), process_id, min(stream_pos), value, CAST(NULL AS STRING)
  FROM (SELECT event_id, process_id, stream_pos, concat_ws(' ', group_id, client_id, member_id) AS value FROM event_row)
  WHERE contains(value, '�') GROUP BY process_id, value HAVING count(*) = 1
)
SELECT event_id, min(process_id) AS process_id, min(from_pos) AS stream_pos, min(value) AS value, min(expected) AS expected FROM contradiction
GROUP BY event_id
