-- The earliest time at which a task of the lane may run: one seek a priority in the primary key of ready.
SELECT min(run_at) FROM (
    SELECT min(run_at) AS run_at FROM ready WHERE lane = ?1 AND prio = 0
    UNION ALL SELECT min(run_at) FROM ready WHERE lane = ?1 AND prio = 1
    UNION ALL SELECT min(run_at) FROM ready WHERE lane = ?1 AND prio = 2
)
