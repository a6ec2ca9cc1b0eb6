-- The verbs that move tasks. They are functions because each needs several statements, every one with a fresh view
-- of the store, behind one round trip.
--
-- Their plans are made once, often while the tables are still empty, and must hold when there are millions of rows. So
-- no join is left to be turned around by a statistic: from the given arrays to a table they go by LATERAL … OFFSET 0
-- or a subquery for each row; where a table is changed, a condition `= ANY (array)` that an index serves bounds it first,
-- and the rest is a hash of as many rows. Rows that are never updated in place are deleted by their ctid.

-- Counts moves between states (NULL: from or to the outside), by lane and by kind.
CREATE FUNCTION malla_count(
    lanes BIGINT[], kinds TEXT[], grps BIGINT[], froms SMALLINT[], tos SMALLINT[]
) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    WITH change AS (
        SELECT lane, kind, coalesce(grp, 0) AS grp,
               count(*) FILTER (WHERE t = 0) - count(*) FILTER (WHERE f = 0) AS open,
               count(*) FILTER (WHERE t = 1) - count(*) FILTER (WHERE f = 1) AS paused,
               count(*) FILTER (WHERE t = 2) - count(*) FILTER (WHERE f = 2) AS notified,
               count(*) FILTER (WHERE t = 3) - count(*) FILTER (WHERE f = 3) AS succeeded,
               count(*) FILTER (WHERE t = 4) - count(*) FILTER (WHERE f = 4) AS failed,
               count(*) FILTER (WHERE t = 5) - count(*) FILTER (WHERE f = 5) AS discarded
        FROM unnest(lanes, kinds, grps, froms, tos) AS m (lane, kind, grp, f, t)
        WHERE f IS DISTINCT FROM t
        GROUP BY 1, 2, 3
    ), by_lane AS (
        INSERT INTO lane_tally AS c (lane, kind, grp, open, paused, notified, succeeded, failed, discarded)
        SELECT * FROM change ORDER BY lane, kind, grp
        ON CONFLICT (lane, kind, grp) DO UPDATE SET
            open = c.open + excluded.open, paused = c.paused + excluded.paused, notified = c.notified + excluded.notified,
            succeeded = c.succeeded + excluded.succeeded, failed = c.failed + excluded.failed,
            discarded = c.discarded + excluded.discarded
    )
    INSERT INTO tally AS c (kind, grp, shard, open, paused, notified, succeeded, failed, discarded)
    SELECT kind, grp, (pg_backend_pid() & 15)::smallint, sum(open), sum(paused), sum(notified), sum(succeeded), sum(failed),
           sum(discarded)
    FROM change GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (kind, grp, shard) DO UPDATE SET
        open = c.open + excluded.open, paused = c.paused + excluded.paused, notified = c.notified + excluded.notified,
        succeeded = c.succeeded + excluded.succeeded, failed = c.failed + excluded.failed,
        discarded = c.discarded + excluded.discarded;
END $$;

-- The earliest time at which a waiting task of the lane may run: one seek a priority in the primary key of ready.
-- The verbs say it in place, because a call for each of their lanes would cost more than the rest of them.
CREATE FUNCTION malla_earliest(of_lane BIGINT, prios INTEGER) RETURNS BIGINT LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN least(
        CASE WHEN prios & 1 > 0 THEN (SELECT run_at FROM ready WHERE lane = of_lane AND prio = 0 ORDER BY run_at LIMIT 1) END,
        CASE WHEN prios & 2 > 0 THEN (SELECT run_at FROM ready WHERE lane = of_lane AND prio = 1 ORDER BY run_at LIMIT 1) END,
        CASE WHEN prios & 4 > 0 THEN (SELECT run_at FROM ready WHERE lane = of_lane AND prio = 2 ORDER BY run_at LIMIT 1) END);
END $$;

-- Makes the lanes that are missing, locks them (and those of the leased tasks `of_leases`) in the order of their ids,
-- and tells these in the order of keys.
CREATE FUNCTION malla_lock_lanes(
    keys TEXT[], rooms TEXT[], grps BIGINT[], ceilings BIGINT[], gaps BIGINT[], now_ms BIGINT, of_leases BIGINT[]
) RETURNS BIGINT[] LANGUAGE plpgsql AS $$
DECLARE
    lanes BIGINT[];
BEGIN
    LOOP
        INSERT INTO lane (key, room, grp, ceiling, gap_ms, used_at)
        SELECT DISTINCT ON (n.key) n.key, n.room, n.grp, n.ceiling, n.gap_ms, now_ms
        FROM unnest(keys, rooms, grps, ceilings, gaps) WITH ORDINALITY AS n (key, room, grp, ceiling, gap_ms, ord)
        WHERE (SELECT id FROM lane WHERE lane.key = n.key) IS NULL
        ORDER BY n.key, n.ord
        ON CONFLICT (key) DO NOTHING;
        PERFORM 1 FROM lane
        WHERE id = ANY (ARRAY(
            SELECT id FROM lane WHERE key = ANY (keys)
            UNION SELECT lane FROM lease WHERE task = ANY (of_leases)
        ))
        ORDER BY id FOR NO KEY UPDATE;
        SELECT array_agg((SELECT id FROM lane WHERE lane.key = n.key) ORDER BY n.ord) INTO lanes
        FROM unnest(keys) WITH ORDINALITY AS n (key, ord);
        -- one may have been forgotten while we waited for its lock
        EXIT WHEN num_nulls(VARIADIC lanes) = 0;
    END LOOP;
    RETURN lanes;
END $$;

-- Takes tasks in. `rouse` names the rooms in which something became ready. A dedup key that is taken answers with the
-- task that has it.
CREATE FUNCTION malla_submit(
    keys TEXT[], rooms TEXT[], lane_grps BIGINT[], ceilings BIGINT[], gaps BIGINT[],
    kinds TEXT[], grps BIGINT[], prios SMALLINT[], run_ats BIGINT[], dedups TEXT[], retries TEXT[], payloads BYTEA[],
    parents BIGINT[], now_ms BIGINT, pending_max BIGINT,
    OUT ids BIGINT[], OUT fresh BOOLEAN[], OUT rouse TEXT[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
DECLARE
    waiting BIGINT;
    lanes BIGINT[];
BEGIN
    IF pending_max IS NOT NULL THEN
        SELECT coalesce(sum(open), 0) INTO waiting FROM tally;
        IF waiting + cardinality(keys) > pending_max THEN
            RAISE EXCEPTION USING ERRCODE = 'MA001', MESSAGE = waiting::text;
        END IF;
    END IF;
    lanes := malla_lock_lanes(keys, rooms, lane_grps, ceilings, gaps, now_ms, NULL);
    SELECT array_agg(malla_id(now_ms) ORDER BY ord), array_agg(true ORDER BY ord) INTO ids, fresh
    FROM generate_series(1, cardinality(keys)) AS ord;
    IF num_nonnulls(VARIADIC dedups) > 0 THEN
        WITH first AS (
            SELECT DISTINCT ON (room, key) room, key, id, ord
            FROM unnest(rooms, dedups, ids) WITH ORDINALITY AS n (room, key, id, ord)
            WHERE key IS NOT NULL
            ORDER BY room, key, ord
        )
        INSERT INTO dedup (room, key, task) SELECT room, key, id FROM first ORDER BY room, key
        ON CONFLICT (room, key) DO NOTHING;
        SELECT array_agg(coalesce(d.task, d.id) ORDER BY d.ord), array_agg(d.task IS NULL OR d.task = d.id ORDER BY d.ord)
        INTO ids, fresh
        FROM (
            SELECT n.id, n.ord, (SELECT task FROM dedup WHERE room = n.room AND key = n.key) AS task
            FROM unnest(rooms, dedups, ids) WITH ORDINALITY AS n (room, key, id, ord)
            OFFSET 0
        ) d;
    END IF;

    INSERT INTO task (id, lane, kind, grp, state, prio, run_at, parent, dedup, retry, payload)
    SELECT n.id, n.lane, n.kind, n.grp, 0, n.prio, n.run_at, n.parent, n.dedup, n.retry, n.payload
    FROM unnest(ids, fresh, lanes, kinds, grps, prios, run_ats, parents, dedups, retries, payloads)
         AS n (id, fresh, lane, kind, grp, prio, run_at, parent, dedup, retry, payload)
    WHERE n.fresh;
    INSERT INTO ready (lane, prio, run_at, task)
    SELECT n.lane, n.prio, n.run_at, n.id
    FROM unnest(ids, fresh, lanes, prios, run_ats) AS n (id, fresh, lane, prio, run_at)
    WHERE n.fresh;
    UPDATE lane SET prios = lane.prios | n.bits
    FROM (SELECT m.lane, bit_or(1 << m.prio) AS bits FROM unnest(lanes, prios) AS m (lane, prio) GROUP BY 1) n
    WHERE lane.id = ANY (lanes) AND lane.id = n.lane AND lane.prios & n.bits <> n.bits;
    WITH due AS (
        SELECT n.lane, min(n.run_at) AS run_at
        FROM unnest(lanes, fresh, run_ats) AS n (lane, fresh, run_at) WHERE n.fresh GROUP BY 1
    ), hastened AS (
        UPDATE lane SET ready_at = greatest(due.run_at, lane.next_start_at)
        FROM due
        WHERE lane.id = ANY (lanes) AND lane.id = due.lane AND NOT lane.paused AND lane.running < lane.ceiling
          AND (lane.ready_at IS NULL OR lane.ready_at > greatest(due.run_at, lane.next_start_at))
        RETURNING lane.room
    )
    SELECT array_agg(DISTINCT room) INTO rouse FROM hastened;
    PERFORM malla_count(array_agg(n.lane), array_agg(n.kind), array_agg(n.grp), array_agg(NULL::smallint), array_agg(0::smallint))
    FROM unnest(lanes, fresh, kinds, grps) AS n (lane, fresh, kind, grp) WHERE n.fresh;
END $$;

-- Takes leases on due tasks of one room: lanes longest in line first, each its share within its ceiling and gap, from
-- as few lanes as give each a `turn` of tasks, and then from more if those had fewer.
-- Lanes that somebody else has locked are passed over, unless all are: then the first is waited for.
CREATE FUNCTION malla_lease(
    of_room TEXT, most INTEGER, turn INTEGER, run_max INTEGER, keys TEXT[], now_ms BIGINT, expires BIGINT, by_holder TEXT, nonces BIGINT[]
) RETURNS TABLE (
    task BIGINT, nonce BIGINT, lane_key TEXT, kind TEXT, grp BIGINT, prio SMALLINT, failures INTEGER, retry TEXT, payload BYTEA
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    line BIGINT[];
    mine BIGINT[];
    due_lanes BIGINT[];
    due_tasks BIGINT[];
    due_rows TID[];
    share INTEGER;
    took INTEGER := 0;
    lanes_max INTEGER;
    again BOOLEAN := false;
BEGIN
    FOREACH lanes_max IN ARRAY ARRAY[(most + turn - 1) / turn, most] LOOP
        IF keys IS NULL THEN
            -- a range of lane_ready, as long as what is taken
            SELECT array_agg(id ORDER BY ready_at) INTO line
            FROM (SELECT id, ready_at FROM lane WHERE room = of_room AND ready_at <= now_ms ORDER BY ready_at LIMIT least(lanes_max, most - took)) l;
        ELSE
            SELECT array_agg(l.id ORDER BY k.ord) INTO line
            FROM unnest(keys) WITH ORDINALITY AS k (key, ord)
            CROSS JOIN LATERAL (SELECT id FROM lane WHERE lane.key = k.key AND room = of_room AND ready_at <= now_ms OFFSET 0) l;
        END IF;
        EXIT WHEN line IS NULL;
        SELECT array_agg(id) INTO mine
        FROM (SELECT id FROM lane WHERE id = ANY (line) AND ready_at <= now_ms ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) l;
        IF mine IS NULL THEN
            -- who holds locks waits for none
            EXIT WHEN again;
            SELECT array_agg(id) INTO mine
            FROM (SELECT id FROM lane WHERE id = line[1] AND ready_at <= now_ms FOR NO KEY UPDATE) l;
            EXIT WHEN mine IS NULL;
        END IF;
        share := ceil((most - took)::numeric / cardinality(mine));

        -- one seek a lane and priority in the primary key of ready, read as far as the lane's share
        SELECT array_agg(d.lane), array_agg(d.task), array_agg(d.place) INTO due_lanes, due_tasks, due_rows
        FROM (
            SELECT n.id AS lane, r.task, r.place
            FROM unnest(line) WITH ORDINALITY AS l (id, ord)
            CROSS JOIN LATERAL (SELECT * FROM lane WHERE lane.id = l.id AND l.id = ANY (mine) OFFSET 0) n
            CROSS JOIN LATERAL (
                SELECT * FROM (SELECT ready.task, ready.ctid AS place FROM ready WHERE n.prios & 1 > 0 AND ready.lane = n.id AND ready.prio = 0 AND ready.run_at <= now_ms
                               ORDER BY ready.run_at, ready.task LIMIT share) a
                UNION ALL
                SELECT * FROM (SELECT ready.task, ready.ctid AS place FROM ready WHERE n.prios & 2 > 0 AND ready.lane = n.id AND ready.prio = 1 AND ready.run_at <= now_ms
                               ORDER BY ready.run_at, ready.task LIMIT share) b
                UNION ALL
                SELECT * FROM (SELECT ready.task, ready.ctid AS place FROM ready WHERE n.prios & 4 > 0 AND ready.lane = n.id AND ready.prio = 2 AND ready.run_at <= now_ms
                               ORDER BY ready.run_at, ready.task LIMIT share) c
                LIMIT least(share, CASE WHEN n.ceiling = 1 AND n.running = 0 THEN greatest(run_max, 1)
                                        WHEN n.gap_ms > 0 THEN least(1, n.ceiling - n.running) ELSE n.ceiling - n.running END)
            ) r
            ORDER BY l.ord
            LIMIT most - took
        ) d;
        -- nobody else moves these rows: their lanes are ours
        DELETE FROM ready WHERE ready.ctid = ANY (due_rows);
        RETURN QUERY
            WITH taken AS MATERIALIZED (
                SELECT d.ord, t.id, t.lane, n.key, t.kind, t.grp, t.prio, t.failures, t.retry, t.payload, t.dedup
                FROM unnest(due_tasks) WITH ORDINALITY AS d (task, ord)
                CROSS JOIN LATERAL (SELECT * FROM task WHERE task.id = d.task OFFSET 0) t
                CROSS JOIN LATERAL (SELECT key FROM lane WHERE lane.id = t.lane OFFSET 0) n
            ), noted AS (
                INSERT INTO lease (task, lane, nonce, started_at, expires_at, prio, kind, grp, holder, dedup)
                SELECT k.id, k.lane, nonces[took + k.ord], now_ms, expires, k.prio, k.kind, k.grp, by_holder, k.dedup FROM taken k
            )
            SELECT k.id, nonces[took + k.ord], k.key, k.kind, k.grp, k.prio, k.failures, k.retry, k.payload FROM taken k ORDER BY k.ord;
        UPDATE lane SET
            running = lane.running + c.taken,
            next_start_at = greatest(lane.next_start_at, now_ms + lane.gap_ms),
            used_at = now_ms,
            ready_at = CASE WHEN lane.running + c.taken < lane.ceiling THEN (
                -- evaluated once; no row, so NULL, if nothing waits
                SELECT greatest(e.run_at, lane.next_start_at, now_ms + lane.gap_ms) FROM (SELECT least(
                    CASE WHEN lane.prios & 1 > 0 THEN (SELECT run_at FROM ready WHERE ready.lane = lane.id AND prio = 0 ORDER BY run_at LIMIT 1) END,
                    CASE WHEN lane.prios & 2 > 0 THEN (SELECT run_at FROM ready WHERE ready.lane = lane.id AND prio = 1 ORDER BY run_at LIMIT 1) END,
                    CASE WHEN lane.prios & 4 > 0 THEN (SELECT run_at FROM ready WHERE ready.lane = lane.id AND prio = 2 ORDER BY run_at LIMIT 1) END
                ) AS run_at OFFSET 0) e WHERE e.run_at IS NOT NULL) END
        FROM (SELECT u.lane, count(*) AS taken FROM unnest(due_lanes) AS u (lane) GROUP BY 1) c
        WHERE lane.id = ANY (due_lanes) AND lane.id = c.lane;
        -- those that stood in line for nothing
        UPDATE lane SET ready_at = CASE WHEN lane.running < lane.ceiling AND malla_earliest(lane.id, lane.prios) IS NOT NULL
            THEN greatest(malla_earliest(lane.id, lane.prios), lane.next_start_at, now_ms) END
        WHERE lane.id = ANY (mine) AND lane.id <> ALL (coalesce(due_lanes, '{}'));
        took := took + coalesce(cardinality(due_tasks), 0);
        EXIT WHEN took >= most;
        again := true;
    END LOOP;
END $$;

-- Ends leases (`source` 0), lapsed leases (1) or overdue confirmations (2), each with what becomes of its task.
-- answers: 0 done, 1 the same ending came before, 2 the lease is lost.
CREATE FUNCTION malla_finish(
    source INTEGER, tasks BIGINT[], nonces BIGINT[], states SMALLINT[], run_ats BIGINT[], finished_ats BIGINT[],
    failure_counts INTEGER[], lapse_counts INTEGER[], results BYTEA[], lines TEXT[], rests BIGINT[],
    event_of INTEGER[], event_kinds TEXT[], event_grps BIGINT[], event_bodies BYTEA[],
    now_ms BIGINT, history_max INTEGER, unflushed BOOLEAN,
    OUT answers SMALLINT[], OUT rouse TEXT[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
DECLARE
    ords INTEGER[];
    lanes BIGINT[];
    kinds TEXT[];
    grps BIGINT[];
    tos SMALLINT[];
    waits BIGINT[];
    was SMALLINT := CASE source WHEN 2 THEN 2 ELSE 0 END;
    -- so that only the partitions of these are looked at
    first_task BIGINT := (SELECT min(t) FROM unnest(tasks) AS u (t));
    last_task BIGINT := (SELECT max(t) FROM unnest(tasks) AS u (t));
    i INTEGER;
BEGIN
    IF unflushed THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    IF source = 2 THEN
        PERFORM 1 FROM lane WHERE id = ANY (ARRAY(SELECT lane FROM task WHERE id = ANY (tasks))) ORDER BY id FOR NO KEY UPDATE;
        -- as if each had a lease that ends now
        WITH due AS (
            DELETE FROM awaiting WHERE ctid = ANY (ARRAY(
                SELECT (SELECT a.ctid FROM awaiting a WHERE a.due_at = t.run_at AND a.task = t.id)
                FROM task t WHERE t.id = ANY (tasks) AND t.state = 2 AND t.run_at <= now_ms
            ))
            RETURNING task
        )
        INSERT INTO lease (task, lane, nonce, started_at, expires_at, prio, kind, grp, holder, dedup)
        SELECT id, lane, 0, now_ms, now_ms, prio, kind, grp, '', dedup FROM task WHERE id = ANY (ARRAY(SELECT task FROM due));
    ELSE
        PERFORM 1 FROM lane WHERE id = ANY (ARRAY(SELECT lane FROM lease WHERE task = ANY (tasks))) ORDER BY id FOR NO KEY UPDATE;
    END IF;
    WITH gone AS MATERIALIZED (
        SELECT DISTINCT ON (g.task) g.*, l.lane, l.prio, l.kind, l.grp, l.dedup
        FROM unnest(tasks, nonces, states, run_ats, finished_ats, failure_counts, lapse_counts, results, lines, rests)
             WITH ORDINALITY AS g (task, nonce, state, run_at, finished_at, failures, lapses, result, line, rest, ord)
        CROSS JOIN LATERAL (
            SELECT * FROM lease
            WHERE lease.task = g.task AND lease.nonce = g.nonce AND (source = 0 OR lease.expires_at <= now_ms) OFFSET 0
        ) l
        ORDER BY g.task, g.ord
    ), dropped AS (
        DELETE FROM lease WHERE task = ANY (ARRAY(SELECT g.task FROM gone g))
    ), written AS (
        UPDATE task SET
            state = g.state, failures = g.failures, lapses = g.lapses, run_at = g.run_at, finished_at = g.finished_at,
            result = g.result, ended_by = CASE WHEN source = 0 THEN g.nonce ELSE task.ended_by END,
            history = CASE WHEN length(task.history) > history_max THEN right(task.history, history_max / 2) ELSE task.history END
                || g.line
        FROM gone g
        WHERE task.id = ANY (tasks) AND task.id BETWEEN first_task AND last_task AND task.id = g.task
    ), waiting AS (
        INSERT INTO ready (lane, prio, run_at, task) SELECT g.lane, g.prio, g.run_at, g.task FROM gone g WHERE g.state = 0
    ), awaited AS (
        INSERT INTO awaiting (due_at, task) SELECT g.run_at, g.task FROM gone g WHERE g.state = 2
    ), freed AS (
        DELETE FROM dedup WHERE ctid = ANY (ARRAY(
            SELECT (SELECT d.ctid FROM dedup d WHERE d.room = (SELECT n.room FROM lane n WHERE n.id = g.lane) AND d.key = g.dedup AND d.task = g.task)
            FROM gone g WHERE g.dedup IS NOT NULL AND g.state > 2
        ))
    )
    SELECT array_agg(ord::integer), array_agg(lane), array_agg(kind), array_agg(grp), array_agg(state), array_agg(rest)
    INTO ords, lanes, kinds, grps, tos, waits FROM gone;

    answers := array_fill(2::smallint, ARRAY[cardinality(tasks)]);
    FOREACH i IN ARRAY coalesce(ords, '{}') LOOP
        answers[i] := 0;
    END LOOP;
    IF cardinality(ords) IS DISTINCT FROM cardinality(tasks) THEN
        FOR i IN 1 .. cardinality(tasks) LOOP
            IF answers[i] = 2 AND EXISTS (SELECT 1 FROM task WHERE id = tasks[i] AND ended_by = nonces[i]) THEN
                answers[i] := 1;
            END IF;
        END LOOP;
    END IF;
    IF ords IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(event_of) > 0 THEN
        INSERT INTO event (id, kind, grp, task, bytes, body)
        SELECT malla_id(now_ms), v.kind, v.grp, tasks[v.of], octet_length(v.body), v.body
        FROM unnest(event_of, event_kinds, event_grps, event_bodies) AS v (of, kind, grp, body)
        WHERE answers[v.of] = 0;
    END IF;
    rouse := malla_release(lanes, CASE WHEN source < 2 THEN 1 ELSE 0 END, waits, now_ms);
    PERFORM malla_count(lanes, kinds, grps, array_fill(was, ARRAY[cardinality(lanes)]), tos);
END $$;

-- Writes lanes from which tasks went (`each` places freed for an entry) or to which some came back, with their place
-- in the line: one that was full and has room again goes to its end. Returns the rooms to rouse.
CREATE FUNCTION malla_release(lanes BIGINT[], each INTEGER, rests BIGINT[], now_ms BIGINT) RETURNS TEXT[] LANGUAGE plpgsql AS $$
DECLARE
    roused TEXT[];
BEGIN
    WITH written AS (
        UPDATE lane SET
            running = greatest(lane.running - c.freed, 0),
            next_start_at = greatest(lane.next_start_at, c.rest),
            used_at = now_ms,
            ready_at = CASE WHEN NOT lane.paused AND greatest(lane.running - c.freed, 0) < lane.ceiling THEN (
                -- evaluated once; no row, so NULL, if nothing waits
                SELECT greatest(e.run_at, lane.next_start_at, c.rest, least(coalesce(lane.ready_at, now_ms), now_ms)) FROM (SELECT least(
                    CASE WHEN lane.prios & 1 > 0 THEN (SELECT run_at FROM ready WHERE ready.lane = lane.id AND prio = 0 ORDER BY run_at LIMIT 1) END,
                    CASE WHEN lane.prios & 2 > 0 THEN (SELECT run_at FROM ready WHERE ready.lane = lane.id AND prio = 1 ORDER BY run_at LIMIT 1) END,
                    CASE WHEN lane.prios & 4 > 0 THEN (SELECT run_at FROM ready WHERE ready.lane = lane.id AND prio = 2 ORDER BY run_at LIMIT 1) END
                ) AS run_at OFFSET 0) e WHERE e.run_at IS NOT NULL) END
        FROM (
            SELECT r.lane, count(*) * each AS freed, coalesce(max(r.rest), 0) AS rest
            FROM unnest(lanes, rests) AS r (lane, rest) GROUP BY 1
        ) c
        WHERE lane.id = ANY (lanes) AND lane.id = c.lane
        RETURNING lane.room, lane.ready_at
    )
    SELECT array_agg(DISTINCT room) INTO roused FROM written WHERE ready_at IS NOT NULL;
    RETURN roused;
END $$;

-- A person's verb on tasks: those in one of the states `froms` (6: running) go to the state `dest`. A resent task starts
-- anew, and stays where it is while another task has its dedup key.
CREATE FUNCTION malla_move(
    tasks BIGINT[], froms SMALLINT[], dest SMALLINT, resend BOOLEAN, line TEXT, now_ms BIGINT, history_max INTEGER,
    OUT moved BIGINT[], OUT taken BIGINT[], OUT rouse TEXT[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
DECLARE
    lanes BIGINT[];
    prios SMALLINT[];
    runs BIGINT[];
    kinds TEXT[];
    grps BIGINT[];
    codes SMALLINT[];
    leased BOOLEAN[];
    rests BIGINT[];
BEGIN
    PERFORM 1 FROM lane WHERE id = ANY (ARRAY(SELECT lane FROM task WHERE id = ANY (tasks))) ORDER BY id FOR NO KEY UPDATE;
    IF resend THEN
        -- claim the dedup keys of finished tasks; who does not get its key is left out
        WITH wanted AS (
            SELECT DISTINCT ON (n.room, t.dedup) n.room, t.dedup AS key, t.id
            FROM task t CROSS JOIN LATERAL (SELECT room FROM lane WHERE lane.id = t.lane OFFSET 0) n
            WHERE t.id = ANY (tasks) AND t.dedup IS NOT NULL AND t.state > 2 AND t.state = ANY (froms)
            ORDER BY n.room, t.dedup, t.id
        )
        INSERT INTO dedup (room, key, task) SELECT room, key, id FROM wanted ORDER BY room, key
        ON CONFLICT (room, key) DO NOTHING;
        SELECT array_agg(t.id) INTO taken
        FROM task t
        WHERE t.id = ANY (tasks) AND t.dedup IS NOT NULL AND t.state > 2
          AND t.id <> (SELECT d.task FROM dedup d WHERE d.room = (SELECT n.room FROM lane n WHERE n.id = t.lane) AND d.key = t.dedup);
    END IF;
    SELECT array_agg(t.id), array_agg(t.lane), array_agg(t.prio), array_agg(t.run_at), array_agg(t.kind), array_agg(t.grp),
           array_agg(t.state), array_agg(l.task IS NOT NULL),
           -- the holder learns only later and may go on until its lease ends: a lane with a gap keeps it from there
           array_agg(CASE WHEN n.gap_ms > 0 THEN l.expires_at + n.gap_ms END)
    INTO moved, lanes, prios, runs, kinds, grps, codes, leased, rests
    FROM task t
    CROSS JOIN LATERAL (SELECT gap_ms FROM lane WHERE lane.id = t.lane OFFSET 0) n
    LEFT JOIN LATERAL (SELECT task, expires_at FROM lease WHERE lease.task = t.id OFFSET 0) l ON true
    WHERE t.id = ANY (tasks) AND (CASE WHEN l.task IS NOT NULL THEN 6 ELSE t.state END)::smallint = ANY (froms)
      AND (taken IS NULL OR t.id <> ALL (taken));
    IF moved IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM ready WHERE ctid = ANY (ARRAY(
        SELECT (SELECT r.ctid FROM ready r WHERE r.lane = m.lane AND r.prio = m.prio AND r.run_at = m.run_at AND r.task = m.task)
        FROM unnest(moved, lanes, prios, runs) AS m (task, lane, prio, run_at)
    ));
    DELETE FROM lease WHERE task = ANY (moved);
    DELETE FROM awaiting WHERE ctid = ANY (ARRAY(
        SELECT (SELECT a.ctid FROM awaiting a WHERE a.due_at = m.run_at AND a.task = m.task)
        FROM unnest(moved, runs, codes) AS m (task, run_at, code) WHERE m.code = 2
    ));
    UPDATE task SET
        state = dest, finished_at = CASE WHEN dest > 2 THEN now_ms END,
        run_at = CASE WHEN resend THEN now_ms ELSE run_at END, failures = CASE WHEN resend THEN 0 ELSE failures END,
        lapses = CASE WHEN resend THEN 0 ELSE lapses END, result = CASE WHEN resend THEN NULL ELSE result END,
        history = CASE WHEN length(history) > history_max THEN right(history, history_max / 2) ELSE history END || line
    WHERE id = ANY (moved);
    IF dest = 0 THEN
        INSERT INTO ready (lane, prio, run_at, task) SELECT lane, prio, run_at, id FROM task WHERE id = ANY (moved);
    ELSIF dest > 2 THEN
        DELETE FROM dedup WHERE ctid = ANY (ARRAY(
            SELECT (SELECT d.ctid FROM dedup d WHERE d.room = (SELECT n.room FROM lane n WHERE n.id = t.lane) AND d.key = t.dedup AND d.task = t.id)
            FROM task t WHERE t.id = ANY (moved) AND t.dedup IS NOT NULL
        ));
    END IF;
    -- lanes that lost a running task, then the others
    rouse := malla_release(
            (SELECT array_agg(m.lane) FROM unnest(lanes, leased) AS m (lane, leased) WHERE m.leased), 1,
            (SELECT array_agg(m.rest) FROM unnest(rests, leased) AS m (rest, leased) WHERE m.leased), now_ms)
        || malla_release((SELECT array_agg(m.lane) FROM unnest(lanes, leased) AS m (lane, leased) WHERE NOT m.leased), 0, NULL, now_ms);
    PERFORM malla_count(lanes, kinds, grps, codes, array_fill(dest, ARRAY[cardinality(lanes)]));
END $$;

-- Forgets those of these tasks that are finished.
CREATE FUNCTION malla_forget_tasks(old BIGINT[]) RETURNS BIGINT LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
DECLARE
    gone BIGINT;
    lanes BIGINT[];
    kinds TEXT[];
    grps BIGINT[];
    states SMALLINT[];
BEGIN
    PERFORM 1 FROM lane WHERE id = ANY (ARRAY(SELECT lane FROM task WHERE id = ANY (old))) ORDER BY id FOR NO KEY UPDATE;
    WITH dropped AS (
        DELETE FROM task WHERE id = ANY (old) AND state > 2 RETURNING lane, kind, grp, state
    )
    SELECT count(*), array_agg(lane), array_agg(kind), array_agg(grp), array_agg(state)
    INTO gone, lanes, kinds, grps, states FROM dropped;
    PERFORM malla_count(lanes, kinds, grps, states, array_fill(NULL::smallint, ARRAY[gone::integer]));
    RETURN gone;
END $$;

-- Forgets lanes without a task, unused for long and never touched by an operator.
CREATE FUNCTION malla_prune_lanes(unused_since BIGINT, most INTEGER) RETURNS BIGINT LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
DECLARE
    empty BIGINT[];
BEGIN
    SELECT array_agg(id) INTO empty FROM (
        SELECT id FROM lane n
        WHERE used_at < unused_since AND NOT settled AND running = 0 AND next_start_at < unused_since
          AND NOT EXISTS (SELECT 1 FROM task WHERE lane = n.id)
        ORDER BY id LIMIT most FOR UPDATE SKIP LOCKED
    ) e;
    -- asked again behind the lock: a task may have come
    SELECT array_agg(e.id) INTO empty FROM unnest(empty) AS e (id) WHERE NOT EXISTS (SELECT 1 FROM task WHERE lane = e.id);
    IF empty IS NULL THEN
        RETURN 0;
    END IF;
    DELETE FROM lane_tally WHERE lane = ANY (empty);
    DELETE FROM lane WHERE id = ANY (empty);
    RETURN cardinality(empty);
END $$;
