-- Tasks in lanes. What leasing touches (lane, ready, lease) is small and apart from the task rows,
-- which are written when a task is submitted and when its lease ends.

CREATE TABLE lane (
    id            INTEGER PRIMARY KEY,
    key           TEXT    NOT NULL UNIQUE,
    room          TEXT    NOT NULL,
    grp           INTEGER,
    ceiling       INTEGER NOT NULL,
    gap_ms        INTEGER NOT NULL,
    paused        INTEGER NOT NULL DEFAULT 0,
    -- an operator changed it: it is kept even when empty
    settled       INTEGER NOT NULL DEFAULT 0,
    running       INTEGER NOT NULL DEFAULT 0,
    -- nothing starts before (the gap, or a rest that somebody asked for)
    next_start_at INTEGER NOT NULL DEFAULT 0,
    -- its place in the line; NULL: nothing to start, full or paused. It may be too early, never too late.
    ready_at      INTEGER,
    used_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX lane_ready ON lane (room, ready_at) WHERE ready_at IS NOT NULL;
CREATE INDEX lane_paused ON lane (id) WHERE paused = 1;
CREATE INDEX lane_grp ON lane (grp, key) WHERE grp IS NOT NULL;

-- state: 0 open (queued or running), 1 paused, 2 notified, 3 succeeded, 4 failed, 5 discarded
CREATE TABLE task (
    id          INTEGER PRIMARY KEY,
    lane        INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    grp         INTEGER,
    state       INTEGER NOT NULL,
    prio        INTEGER NOT NULL,
    failures    INTEGER NOT NULL DEFAULT 0,
    lapses      INTEGER NOT NULL DEFAULT 0,
    run_at      INTEGER NOT NULL,
    finished_at INTEGER,
    parent      INTEGER,
    -- the nonce of the last lease that ended: the same ending given twice is recognised by it
    ended_by    INTEGER,
    dedup       TEXT,
    retry       TEXT,
    result      BLOB,
    history     TEXT    NOT NULL DEFAULT '',
    payload     BLOB    NOT NULL
) STRICT;
CREATE INDEX task_state ON task (state, id);
CREATE INDEX task_lane ON task (lane, id);
CREATE INDEX task_grp ON task (grp, id) WHERE grp IS NOT NULL;
CREATE INDEX task_parent ON task (parent, id) WHERE parent IS NOT NULL;

-- Tasks that wait, in the order in which their lane starts them.
CREATE TABLE ready (
    lane   INTEGER NOT NULL,
    prio   INTEGER NOT NULL,
    run_at INTEGER NOT NULL,
    task   INTEGER NOT NULL,
    PRIMARY KEY (lane, prio, run_at, task)
) STRICT, WITHOUT ROWID;

-- As many rows as tasks run: small enough to be read whole.
CREATE TABLE lease (
    task       INTEGER PRIMARY KEY,
    lane       INTEGER NOT NULL,
    nonce      INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    prio       INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    grp        INTEGER,
    holder     TEXT    NOT NULL,
    dedup      TEXT
) STRICT;

-- Notified tasks by the time their confirmation is due.
CREATE TABLE awaiting (
    due_at INTEGER NOT NULL,
    task   INTEGER NOT NULL,
    PRIMARY KEY (due_at, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE dedup (
    room TEXT    NOT NULL,
    key  TEXT    NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (room, key)
) STRICT, WITHOUT ROWID;

-- Counters: tasks by state, so that nothing ever needs to be counted. grp 0 means none.
CREATE TABLE tally (
    kind TEXT NOT NULL, grp INTEGER NOT NULL,
    open INTEGER NOT NULL DEFAULT 0, paused INTEGER NOT NULL DEFAULT 0, notified INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, discarded INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, grp)
) STRICT, WITHOUT ROWID;

CREATE TABLE lane_tally (
    lane INTEGER NOT NULL, kind TEXT NOT NULL, grp INTEGER NOT NULL,
    open INTEGER NOT NULL DEFAULT 0, paused INTEGER NOT NULL DEFAULT 0, notified INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0, discarded INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (lane, kind, grp)
) STRICT, WITHOUT ROWID;

-- What came in at an endpoint, and what happened in Malla itself (kind and task). The body comes last, so that the rest
-- is read without it.
CREATE TABLE event (
    id           INTEGER PRIMARY KEY,
    -- NULL: one of Malla's own that has no notifications yet
    endpoint     INTEGER,
    grp          INTEGER,
    kind         TEXT,
    task         INTEGER,
    method       TEXT,
    query        TEXT,
    content_type TEXT,
    topic        TEXT,
    -- JSON: [[name, value], …]
    headers      TEXT,
    -- the body: 0 as it came, 1 zstd
    packed       INTEGER NOT NULL DEFAULT 0,
    -- of the body as it came
    bytes        INTEGER NOT NULL,
    body         BLOB    NOT NULL
) STRICT;
CREATE INDEX event_endpoint ON event (endpoint, id) WHERE endpoint IS NOT NULL;
CREATE INDEX event_grp ON event (grp, id) WHERE grp IS NOT NULL;
CREATE INDEX event_own ON event (id) WHERE endpoint IS NULL;

-- Who may do what.

CREATE TABLE grp (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE usr (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL UNIQUE,
    role          TEXT    NOT NULL,
    disabled      INTEGER NOT NULL DEFAULT 0,
    password_hash TEXT,
    created_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE membership (
    usr INTEGER NOT NULL REFERENCES usr (id) ON DELETE CASCADE,
    grp INTEGER NOT NULL REFERENCES grp (id) ON DELETE CASCADE,
    PRIMARY KEY (usr, grp)
) STRICT, WITHOUT ROWID;
CREATE INDEX membership_grp ON membership (grp, usr);

CREATE TABLE token (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL UNIQUE,
    hash         BLOB    NOT NULL UNIQUE,
    role         TEXT    NOT NULL,
    grp          INTEGER REFERENCES grp (id),
    created_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER
) STRICT;
CREATE INDEX token_grp ON token (grp) WHERE grp IS NOT NULL;

CREATE TABLE session (
    hash       BLOB    PRIMARY KEY,
    usr        INTEGER NOT NULL REFERENCES usr (id) ON DELETE CASCADE,
    csrf       TEXT    NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_usr ON session (usr);
CREATE INDEX session_expiry ON session (expires_at);

CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    object TEXT    NOT NULL,
    grp    INTEGER,
    detail TEXT    NOT NULL
) STRICT;
CREATE INDEX audit_grp ON audit (grp, id) WHERE grp IS NOT NULL;

-- Idempotency keys with the first answer.
CREATE TABLE once (
    scope       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    answer      TEXT,
    expires_at  INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX once_expiry ON once (expires_at);
