-- Due tasks of a lane, by priority and then age: one seek a priority in the primary key of ready, read as far as
-- the limit.
SELECT prio, run_at, task FROM (
    SELECT * FROM (SELECT prio, run_at, task FROM ready WHERE lane = ?1 AND prio = 0 AND run_at <= ?2 ORDER BY run_at, task LIMIT ?3)
    UNION ALL
    SELECT * FROM (SELECT prio, run_at, task FROM ready WHERE lane = ?1 AND prio = 1 AND run_at <= ?2 ORDER BY run_at, task LIMIT ?3)
    UNION ALL
    SELECT * FROM (SELECT prio, run_at, task FROM ready WHERE lane = ?1 AND prio = 2 AND run_at <= ?2 ORDER BY run_at, task LIMIT ?3)
) LIMIT ?3
