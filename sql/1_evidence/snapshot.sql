-- One row per record of evidence other than logs: output of Kafka's tools, a response of Connect's REST API, a dump of a topic, a
-- properties file.
-- Reads: event_row, evidence_file
-- Grain: event_id
-- Kept: no
-- Public: yes
-- Such files were saved mostly at a time that they do not show (ts is NULL then), so they order nothing and do not prove an overlap. The captures'
-- column comments come from the dictionary of captures.
CREATE OR REPLACE TEMPORARY VIEW snapshot
AS
SELECT r.*, f.kind AS source_kind FROM event_row r
LEFT JOIN (SELECT file_id, max(kind) AS kind FROM evidence_file WHERE status = 'read' GROUP BY file_id) f ON f.file_id = r.file_id
WHERE r.category = 'snapshot'
