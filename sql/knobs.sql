-- The thresholds of all views, as session variables. Change one with `SET VAR name = value` before reading a view.

-- A silence between two records of one process that coverage calls a gap, milliseconds.
DECLARE OR REPLACE VARIABLE gap_ms BIGINT DEFAULT 300000;
-- The user's own claim that all clocks of the case agree within this many milliseconds; NULL: nothing is claimed.
DECLARE OR REPLACE VARIABLE assume_skew_ms BIGINT DEFAULT NULL;
-- How far a quartz clock may wander from another in a day, milliseconds, added to every clock bound by the evidence's length.
DECLARE OR REPLACE VARIABLE drift_ms_per_day BIGINT DEFAULT 0;
-- Tasks without an owner longer than this are worth a finding, milliseconds.
DECLARE OR REPLACE VARIABLE unassigned_ms BIGINT DEFAULT 10000;
-- Longest time between two observations of one generation that still belong together when only members' logs tell, milliseconds.
DECLARE OR REPLACE VARIABLE same_generation_ms BIGINT DEFAULT 600000;
