-- One row per task or connector that had two owners at the same time, or may have had.
-- Reads: split_brain
-- If two owners are proved, the code is the cause. The words are those of split_brain: A is the owner that began first, B the other.
SELECT CASE WHEN verdict = 'proved' AND kind = 'work' THEN 'critical'
    WHEN verdict = 'proved' AND resource_kind = 'task' THEN 'warning'
    ELSE 'note' END AS severity,
  verdict, kafka_cluster, group_id, resource AS subject, unix_millis(from_lo) AS from_ms, unix_millis(to_hi) AS to_ms,
  CASE coalesce(cause, verdict)
    WHEN 'undecided' THEN 'undecided'
    WHEN 'proved' THEN 'cause_unknown'
    WHEN 'kept_running_through_lost_coordinator' THEN 'kept_running_through_lost_coordinator'
    WHEN 'woke_after_freeze' THEN 'woke_after_freeze'
    WHEN 'learnt_too_late' THEN 'learnt_too_late'
    WHEN 'graceful_stop_failed' THEN 'graceful_stop_failed'
    WHEN 'same_generation_assigned_twice' THEN 'same_generation_assigned_twice'
    WHEN 'restart_of_task_not_owned' THEN 'restart_of_task_not_owned'
    ELSE 'not_fenced' END AS code,
  struct(
    resource_kind, resource, process_a, process_b, ownership_a, ownership_b, kind, there_certain_ms, there_possible_ms, work_certain_ms,
    records_at_risk, records_written, clock_how, facts.clock_lo_ms AS clock_lo_ms, facts.clock_hi_ms AS clock_hi_ms,
    facts.a_start_hi_at_ms AS a_start_hi_at_ms, facts.a_stop_lo_at_ms AS a_stop_lo_at_ms, facts.a_stop_hi_at_ms AS a_stop_hi_at_ms,
    facts.a_process_last_at_ms AS a_process_last_at_ms, facts.b_start_lo_at_ms AS b_start_lo_at_ms,
    facts.b_start_hi_at_ms AS b_start_hi_at_ms, facts.b_stop_lo_at_ms AS b_stop_lo_at_ms,
    -- Only if the text uses them: for most pairs both starts and both ends are in the log.
    CASE WHEN array_contains(facts.evidence, 'lines_of_b') THEN facts.b_stop_hi_at_ms END AS b_stop_hi_at_ms,
    CASE WHEN facts.a_start_how <> 'seen' THEN facts.a_start_lo_at_ms END AS a_start_lo_at_ms,
    nullif(facts.a_start_how, 'seen') AS a_start_how, nullif(facts.b_start_how, 'seen') AS b_start_how,
    CASE WHEN facts.a_start_how <> 'seen' OR facts.b_start_how <> 'seen' THEN facts.b_began_later END AS b_began_later,
    facts.a_removed_later AS a_removed_later, facts.b_removed_later AS b_removed_later, facts.b_met_a AS b_met_a,
    facts.is_transactional AS is_transactional, facts.evidence AS evidence
  ) AS facts, transform(witness, (e, i) -> named_struct('role', element_at(witness_role, i + 1), 'event_id', e)) AS proof
FROM split_brain WHERE resource_kind IN ('task', 'connector') AND verdict <> 'refuted'
