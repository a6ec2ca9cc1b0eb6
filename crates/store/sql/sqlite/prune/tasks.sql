-- Finished tasks by age: the front of each final state in task_state.
SELECT id, lane, kind, grp, state FROM (
    SELECT * FROM (SELECT id, lane, kind, grp, state FROM task WHERE state = 3 AND id < ?1 ORDER BY id LIMIT ?2)
    UNION ALL
    SELECT * FROM (SELECT id, lane, kind, grp, state FROM task WHERE state = 4 AND id < ?1 ORDER BY id LIMIT ?2)
    UNION ALL
    SELECT * FROM (SELECT id, lane, kind, grp, state FROM task WHERE state = 5 AND id < ?1 ORDER BY id LIMIT ?2)
) LIMIT ?2
