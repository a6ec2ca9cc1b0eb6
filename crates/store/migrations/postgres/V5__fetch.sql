-- Sites, jobs, pages with their bodies, the cache and the devices of the fleet.
--
-- A verb of fetch locks, in this order: lanes (by id), bodies (by hash), the shelf (by key), its pages (by id), jobs (by
-- id), the device, the counter of the shelf. What forgets passes over what is locked.

-- The gap that an operator asked for: what a site asks for never makes it shorter.
ALTER TABLE lane ADD COLUMN least_gap_ms BIGINT;

-- What is known of a site beside its lane. Written behind the lane's lock.
CREATE TABLE site (
    -- its lane's
    key           TEXT COLLATE "C" PRIMARY KEY,
    -- JSON
    state         TEXT NOT NULL,
    robots_status INTEGER,
    -- zstd
    robots        BYTEA,
    robots_at     BIGINT,
    robots_until  BIGINT
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE site ALTER COLUMN robots SET STORAGE EXTERNAL;

CREATE TABLE job (
    id          BIGINT  PRIMARY KEY,
    grp         BIGINT,
    total       BIGINT  NOT NULL,
    done        BIGINT  NOT NULL,
    good        BIGINT  NOT NULL,
    cached      BIGINT  NOT NULL,
    cancelled   BOOLEAN NOT NULL DEFAULT false,
    finished_at BIGINT
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX job_grp ON job (grp, id) WHERE grp IS NOT NULL;
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;

-- Who waits for a task, with the URL as it was asked for. Written behind the lock of the task's lane.
CREATE TABLE wish (
    task BIGINT NOT NULL,
    job  BIGINT NOT NULL,
    seq  BIGINT NOT NULL,
    url  TEXT   NOT NULL,
    PRIMARY KEY (task, job, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- What a job got, in the order in which it came.
CREATE TABLE answer (
    job    BIGINT  NOT NULL,
    n      BIGINT  NOT NULL,
    url    TEXT    NOT NULL,
    page   BIGINT  NOT NULL,
    cached BOOLEAN NOT NULL,
    PRIMARY KEY (job, n)
);

CREATE TABLE page (
    id         BIGINT  PRIMARY KEY,
    -- of its URL, by which the shelf knows it
    key        BYTEA   NOT NULL,
    url        TEXT    NOT NULL,
    status     INTEGER NOT NULL,
    -- JSON: [[name, value], …]
    headers    TEXT    NOT NULL,
    body       BIGINT,
    bytes      BIGINT  NOT NULL,
    trouble    TEXT,
    note       TEXT,
    fetched_at BIGINT  NOT NULL,
    took_ms    BIGINT  NOT NULL,
    device     TEXT,
    -- off the shelf it is forgotten then
    kept_until BIGINT  NOT NULL
);
CREATE INDEX page_body ON page (body) WHERE body IS NOT NULL;
CREATE INDEX page_kept ON page (kept_until);

-- Each body once.
CREATE TABLE body (
    id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash   BYTEA  NOT NULL UNIQUE,
    bytes  BIGINT NOT NULL,
    -- zstd
    packed BYTEA  NOT NULL
);
ALTER TABLE body ALTER COLUMN packed SET STORAGE EXTERNAL;

-- The cache.
CREATE TABLE shelf (
    key           BYTEA  PRIMARY KEY,
    page          BIGINT NOT NULL,
    fresh_until   BIGINT NOT NULL,
    etag          TEXT,
    last_modified TEXT,
    used_at       BIGINT NOT NULL,
    -- packed
    bytes         BIGINT NOT NULL
);
CREATE INDEX shelf_used ON shelf (used_at, key);

-- What is on the shelf, spread over shards so that writers seldom wait for each other.
CREATE TABLE shelf_size (
    shard   SMALLINT PRIMARY KEY,
    entries BIGINT   NOT NULL DEFAULT 0,
    bytes   BIGINT   NOT NULL DEFAULT 0
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
INSERT INTO shelf_size (shard) SELECT n FROM generate_series(0, 15) AS n;

CREATE TABLE device (
    id          BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        TEXT    COLLATE "C" NOT NULL,
    owner       TEXT    COLLATE "C" NOT NULL,
    grp         BIGINT,
    secret_hash BYTEA   NOT NULL UNIQUE,
    -- JSON
    about       TEXT    NOT NULL,
    blocked     BOOLEAN NOT NULL DEFAULT false,
    joined_at   BIGINT  NOT NULL,
    seen_at     BIGINT  NOT NULL,
    has_left    BOOLEAN NOT NULL DEFAULT false,
    -- JSON
    measures    TEXT    NOT NULL,
    tally       TEXT    NOT NULL,
    UNIQUE (owner, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX device_grp ON device (grp) WHERE grp IS NOT NULL;

-- Locks, in the order of their ids, the lanes of these leased tasks and of `others`, as far as they are there. A lane of
-- `goals` that is missing is made if the lease beside it still holds.
CREATE FUNCTION malla_lock_sites(
    tasks BIGINT[], nonces BIGINT[], goals TEXT[], others TEXT[], ceiling BIGINT, gap_ms BIGINT, now_ms BIGINT
) RETURNS VOID LANGUAGE plpgsql
SET enable_seqscan = off SET enable_nestloop = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO lane (key, room, ceiling, gap_ms, used_at)
    SELECT DISTINCT g.key, 'fetch', malla_lock_sites.ceiling, malla_lock_sites.gap_ms, now_ms
    FROM unnest(tasks, nonces, goals) AS g (task, nonce, key)
    WHERE g.key IS NOT NULL AND (SELECT l.nonce FROM lease l WHERE l.task = g.task) = g.nonce
      AND (SELECT n.id FROM lane n WHERE n.key = g.key) IS NULL
    ORDER BY 1
    ON CONFLICT (key) DO NOTHING;
    PERFORM 1 FROM lane
    WHERE id = ANY (ARRAY(
        SELECT n.id FROM lane n WHERE n.key = ANY (goals || others)
        UNION SELECT l.lane FROM lease l WHERE l.task = ANY (tasks)
    ))
    ORDER BY id FOR NO KEY UPDATE;
END $$;
