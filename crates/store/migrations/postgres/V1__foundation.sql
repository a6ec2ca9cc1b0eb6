-- Tasks in lanes. What leasing touches (lane, ready, lease) is small and apart from the task rows,
-- which are written when a task is submitted and when its lease ends.
--
-- Every verb that moves tasks locks their lanes first, in the order of their ids: that is all the order there is.

CREATE TABLE lane (
    id            BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key           TEXT    COLLATE "C" NOT NULL UNIQUE,
    room          TEXT    COLLATE "C" NOT NULL,
    grp           BIGINT,
    ceiling       BIGINT  NOT NULL,
    gap_ms        BIGINT  NOT NULL,
    paused        BOOLEAN NOT NULL DEFAULT false,
    -- an operator changed it: it is kept even when empty
    settled       BOOLEAN NOT NULL DEFAULT false,
    running       BIGINT  NOT NULL DEFAULT 0,
    -- nothing starts before (the gap, or a rest that somebody asked for)
    next_start_at BIGINT  NOT NULL DEFAULT 0,
    -- its place in the line; NULL: nothing to start, full or paused. It may be too early, never too late.
    ready_at      BIGINT,
    used_at       BIGINT  NOT NULL,
    -- the priorities its tasks ever had, as bits: the others need not be looked for
    prios         INTEGER NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX lane_ready ON lane (room, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX lane_paused ON lane (id) WHERE paused;
CREATE INDEX lane_grp ON lane (grp, key) WHERE grp IS NOT NULL;

-- state: 0 open (queued or running), 1 paused, 2 notified, 3 succeeded, 4 failed, 5 discarded
-- Ids tell the time of submission, so a range of ids is a range of time: one partition a week.
CREATE TABLE task (
    id          BIGINT   PRIMARY KEY,
    lane        BIGINT   NOT NULL,
    kind        TEXT     COLLATE "C" NOT NULL,
    grp         BIGINT,
    state       SMALLINT NOT NULL,
    prio        SMALLINT NOT NULL,
    failures    INTEGER  NOT NULL DEFAULT 0,
    lapses      INTEGER  NOT NULL DEFAULT 0,
    run_at      BIGINT   NOT NULL,
    finished_at BIGINT,
    parent      BIGINT,
    -- the nonce of the last lease that ended: the same ending given twice is recognised by it
    ended_by    BIGINT,
    dedup       TEXT,
    retry       TEXT,
    result      BYTEA,
    history     TEXT     NOT NULL DEFAULT '',
    payload     BYTEA    NOT NULL
) PARTITION BY RANGE (id);
CREATE INDEX task_state ON task (state, id);
CREATE INDEX task_lane ON task (lane, id);
CREATE INDEX task_grp ON task (grp, id) WHERE grp IS NOT NULL;
CREATE INDEX task_parent ON task (parent, id) WHERE parent IS NOT NULL;
CREATE TABLE task_rest PARTITION OF task DEFAULT WITH (fillfactor = 80);

-- Tasks that wait, in the order in which their lane starts them.
CREATE TABLE ready (
    lane   BIGINT   NOT NULL,
    prio   SMALLINT NOT NULL,
    run_at BIGINT   NOT NULL,
    task   BIGINT   NOT NULL,
    PRIMARY KEY (lane, prio, run_at, task)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- As many rows as tasks run: small enough to be read whole.
CREATE TABLE lease (
    task       BIGINT   PRIMARY KEY,
    lane       BIGINT   NOT NULL,
    nonce      BIGINT   NOT NULL,
    started_at BIGINT   NOT NULL,
    expires_at BIGINT   NOT NULL,
    prio       SMALLINT NOT NULL,
    kind       TEXT     COLLATE "C" NOT NULL,
    grp        BIGINT,
    holder     TEXT     NOT NULL,
    dedup      TEXT
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- Notified tasks by the time their confirmation is due.
CREATE TABLE awaiting (
    due_at BIGINT NOT NULL,
    task   BIGINT NOT NULL,
    PRIMARY KEY (due_at, task)
);

CREATE TABLE dedup (
    room TEXT   COLLATE "C" NOT NULL,
    key  TEXT   COLLATE "C" NOT NULL,
    task BIGINT NOT NULL,
    PRIMARY KEY (room, key)
);

-- Counters: tasks by state, so that nothing ever needs to be counted. grp 0 means none. The counters of a kind are
-- spread over shards, so that writers seldom wait for each other.
CREATE TABLE tally (
    kind TEXT COLLATE "C" NOT NULL, grp BIGINT NOT NULL, shard SMALLINT NOT NULL,
    open BIGINT NOT NULL DEFAULT 0, paused BIGINT NOT NULL DEFAULT 0, notified BIGINT NOT NULL DEFAULT 0,
    succeeded BIGINT NOT NULL DEFAULT 0, failed BIGINT NOT NULL DEFAULT 0, discarded BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, grp, shard)
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE lane_tally (
    lane BIGINT NOT NULL, kind TEXT COLLATE "C" NOT NULL, grp BIGINT NOT NULL,
    open BIGINT NOT NULL DEFAULT 0, paused BIGINT NOT NULL DEFAULT 0, notified BIGINT NOT NULL DEFAULT 0,
    succeeded BIGINT NOT NULL DEFAULT 0, failed BIGINT NOT NULL DEFAULT 0, discarded BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (lane, kind, grp)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- What came in at an endpoint, and what happened in Malla itself (kind and task). One partition a week, as tasks.
CREATE TABLE event (
    id           BIGINT   PRIMARY KEY,
    -- NULL: one of Malla's own that has no notifications yet
    endpoint     BIGINT,
    grp          BIGINT,
    kind         TEXT,
    task         BIGINT,
    method       TEXT,
    query        TEXT,
    content_type TEXT,
    topic        TEXT,
    -- JSON: [[name, value], …]
    headers      TEXT,
    -- the body: 0 as it came, 1 zstd
    packed       SMALLINT NOT NULL DEFAULT 0,
    -- of the body as it came
    bytes        BIGINT   NOT NULL,
    body         BYTEA    NOT NULL
) PARTITION BY RANGE (id);
ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX event_endpoint ON event (endpoint, id) WHERE endpoint IS NOT NULL;
CREATE INDEX event_grp ON event (grp, id) WHERE grp IS NOT NULL;
CREATE INDEX event_own ON event (id) WHERE endpoint IS NULL;
CREATE TABLE event_rest PARTITION OF event DEFAULT;

-- Ids: the time of submission, then a number.
CREATE SEQUENCE id_sequence;
CREATE FUNCTION malla_id(now_ms BIGINT) RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
    SELECT (greatest(now_ms - 1577836800000, 0) << 20) | (nextval('id_sequence') & 1048575)
$$;

-- Who may do what.

CREATE TABLE grp (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       TEXT   COLLATE "C" NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE usr (
    id            BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          TEXT    COLLATE "C" NOT NULL UNIQUE,
    role          TEXT    NOT NULL,
    disabled      BOOLEAN NOT NULL DEFAULT false,
    password_hash TEXT,
    created_at    BIGINT  NOT NULL
);

CREATE TABLE membership (
    usr BIGINT NOT NULL REFERENCES usr (id) ON DELETE CASCADE,
    grp BIGINT NOT NULL REFERENCES grp (id) ON DELETE CASCADE,
    PRIMARY KEY (usr, grp)
);
CREATE INDEX membership_grp ON membership (grp, usr);

CREATE TABLE token (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         TEXT   COLLATE "C" NOT NULL UNIQUE,
    hash         BYTEA  NOT NULL UNIQUE,
    role         TEXT   NOT NULL,
    grp          BIGINT REFERENCES grp (id),
    created_by   TEXT   NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    last_used_at BIGINT
);
CREATE INDEX token_grp ON token (grp) WHERE grp IS NOT NULL;

CREATE TABLE session (
    hash       BYTEA  PRIMARY KEY,
    usr        BIGINT NOT NULL REFERENCES usr (id) ON DELETE CASCADE,
    csrf       TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX session_usr ON session (usr);
CREATE INDEX session_expiry ON session (expires_at);

CREATE TABLE audit (
    id     BIGINT PRIMARY KEY,
    at     BIGINT NOT NULL,
    actor  TEXT   NOT NULL,
    action TEXT   NOT NULL,
    object TEXT   NOT NULL,
    grp    BIGINT,
    detail TEXT   NOT NULL
);
CREATE INDEX audit_grp ON audit (grp, id) WHERE grp IS NOT NULL;

-- Idempotency keys with the first answer.
CREATE TABLE once (
    scope       TEXT   COLLATE "C" NOT NULL,
    key         TEXT   COLLATE "C" NOT NULL,
    fingerprint BYTEA  NOT NULL,
    answer      TEXT,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX once_expiry ON once (expires_at);
