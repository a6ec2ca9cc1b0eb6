-- What waits, runs or is paused in these lanes: the primary key of ready, the small lease table, task_state (the zero keeps
-- task_lane out of it, which would read every finished task of the lanes).
SELECT task FROM (
    SELECT * FROM (SELECT task FROM ready WHERE lane = ANY ($1::bigint[]) LIMIT $2) r
    UNION ALL SELECT task FROM lease WHERE lane = ANY ($1::bigint[])
    UNION ALL SELECT * FROM (SELECT id FROM task WHERE state = 1 AND lane + 0 = ANY ($1::bigint[]) LIMIT $2) p
) o LIMIT $2
