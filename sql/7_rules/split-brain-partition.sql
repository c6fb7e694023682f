-- One row per two consumers that held partitions at the same time, or may have.
-- Reads: split_brain, process_life
-- The partitions of one handover are one row, represented by the one that both held longest. The words are those of split_brain.
WITH owner_pair AS (
  SELECT *, struct(-certain_ms AS least, from_lo, resource, ownership_a, ownership_b) AS place FROM split_brain s
  WHERE resource_kind = 'partition' AND verdict <> 'refuted'
    -- The consumer of a Connect sink task counts as the task.
    AND NOT EXISTS (SELECT 1 FROM process_life p WHERE p.is_worker AND p.process_id IN (s.process_a, s.process_b))
), handover AS (
  SELECT kafka_cluster, group_id, process_a, process_b, verdict, kind, array_sort(collect_set(resource)) AS partitions,
    unix_millis(min(from_lo)) AS from_ms, unix_millis(max(to_hi)) AS to_ms, sum(records_at_risk) AS records_at_risk,
    min_by(struct(resource, facts, clock_how, ownership_a, ownership_b, there_certain_ms, there_possible_ms, work_certain_ms), place) AS longest,
    -- The complete proof of each partition; they share most lines.
    sort_array(collect_list(struct(-certain_ms AS least, resource, witness, witness_role))) AS proofs
  FROM owner_pair GROUP BY kafka_cluster, group_id, process_a, process_b, verdict, kind, cause, from_lo
), handover_proof AS (
  SELECT *, flatten(transform(proofs, p -> p.witness)) AS lines, flatten(transform(proofs, p -> p.witness_role)) AS line_roles FROM handover
)
SELECT CASE WHEN verdict = 'proved' AND kind = 'work' THEN 'critical' WHEN verdict = 'proved' THEN 'warning' ELSE 'note' END AS severity, verdict,
  kafka_cluster, group_id, array_join(slice(partitions, 1, 10), ', ') AS subject, from_ms, to_ms,
  CASE WHEN verdict = 'proved' AND kind = 'work' THEN 'both_worked' WHEN verdict = 'proved' THEN 'both_held' ELSE 'undecided' END AS code,
  struct(
    partitions, 'partition' AS resource_kind, longest.resource AS resource, process_a, process_b, longest.ownership_a AS ownership_a,
    longest.ownership_b AS ownership_b, longest.there_certain_ms AS there_certain_ms, longest.there_possible_ms AS there_possible_ms,
    longest.work_certain_ms AS work_certain_ms, records_at_risk, longest.clock_how AS clock_how, longest.facts.clock_lo_ms AS clock_lo_ms,
    longest.facts.clock_hi_ms AS clock_hi_ms, longest.facts.a_start_hi_at_ms AS a_start_hi_at_ms,
    longest.facts.a_stop_lo_at_ms AS a_stop_lo_at_ms, longest.facts.a_stop_hi_at_ms AS a_stop_hi_at_ms,
    longest.facts.a_process_last_at_ms AS a_process_last_at_ms, longest.facts.b_start_lo_at_ms AS b_start_lo_at_ms,
    longest.facts.b_start_hi_at_ms AS b_start_hi_at_ms, longest.facts.b_stop_lo_at_ms AS b_stop_lo_at_ms,
    -- Only if the text uses them: for most partitions both starts and both ends are in the log.
    CASE WHEN array_contains(longest.facts.evidence, 'lines_of_b') THEN longest.facts.b_stop_hi_at_ms END AS b_stop_hi_at_ms,
    CASE WHEN longest.facts.a_start_how <> 'seen' THEN longest.facts.a_start_lo_at_ms END AS a_start_lo_at_ms,
    nullif(longest.facts.a_start_how, 'seen') AS a_start_how, nullif(longest.facts.b_start_how, 'seen') AS b_start_how,
    CASE WHEN longest.facts.a_start_how <> 'seen' OR longest.facts.b_start_how <> 'seen' THEN longest.facts.b_began_later
      END AS b_began_later,
    longest.facts.a_removed_later AS a_removed_later, longest.facts.b_removed_later AS b_removed_later, longest.facts.b_met_a AS b_met_a,
    longest.facts.evidence AS evidence
  ) AS facts,
  transform(slice(array_distinct(lines), 1, 200),
    e -> named_struct('role', element_at(line_roles, CAST(array_position(lines, e) AS INT)), 'event_id', e)) AS proof
FROM handover_proof
