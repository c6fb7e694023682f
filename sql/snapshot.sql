-- One row per thing that a second witness says: output of Kafka's tools, an answer of Connect's REST interface, a dump of a topic, a
-- properties file.
-- Reads: event_row, evidence_file
-- Grain: event_id
-- Kept: no
-- It is what somebody saved, mostly at a time that the file does not tell (ts is NULL then), so it orders nothing and proves no
-- overlap by itself.
-- The captures' comments come with the table, from the dictionary of captures.
CREATE OR REPLACE TEMPORARY VIEW snapshot
COMMENT 'One row per thing that a second witness says beside the logs.'
AS
SELECT r.*, f.kind AS source_kind
FROM event_row r
LEFT JOIN (SELECT file_id, max(kind) AS kind FROM evidence_file WHERE status = 'read' GROUP BY file_id) f ON f.file_id = r.file_id
WHERE r.category = 'snapshot'
