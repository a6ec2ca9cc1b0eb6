-- Sites, jobs, pages with their bodies, the cache and the devices of the fleet.

-- The gap that an operator asked for: what a site asks for never makes it shorter.
ALTER TABLE lane ADD COLUMN least_gap_ms INTEGER;

-- What is known of a site beside its lane.
CREATE TABLE site (
    -- its lane's
    key           TEXT    NOT NULL UNIQUE,
    -- JSON
    state         TEXT    NOT NULL,
    robots_status INTEGER,
    -- zstd
    robots        BLOB,
    robots_at     INTEGER,
    robots_until  INTEGER
) STRICT;

CREATE TABLE job (
    id          INTEGER PRIMARY KEY,
    grp         INTEGER,
    total       INTEGER NOT NULL,
    done        INTEGER NOT NULL,
    good        INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    cancelled   INTEGER NOT NULL DEFAULT 0,
    finished_at INTEGER
) STRICT;
CREATE INDEX job_grp ON job (grp, id) WHERE grp IS NOT NULL;
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;

-- Who waits for a task, with the URL as it was asked for.
CREATE TABLE wish (
    task INTEGER NOT NULL,
    job  INTEGER NOT NULL,
    seq  INTEGER NOT NULL,
    url  TEXT    NOT NULL,
    PRIMARY KEY (task, job, seq)
) STRICT, WITHOUT ROWID;

-- What a job got, in the order in which it came.
CREATE TABLE answer (
    job    INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    url    TEXT    NOT NULL,
    page   INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE page (
    id         INTEGER PRIMARY KEY,
    -- of its URL, by which the shelf knows it
    key        BLOB    NOT NULL,
    url        TEXT    NOT NULL,
    status     INTEGER NOT NULL,
    -- JSON: [[name, value], …]
    headers    TEXT    NOT NULL,
    body       INTEGER,
    bytes      INTEGER NOT NULL,
    trouble    TEXT,
    note       TEXT,
    fetched_at INTEGER NOT NULL,
    took_ms    INTEGER NOT NULL,
    device     TEXT,
    -- off the shelf it is forgotten then
    kept_until INTEGER NOT NULL
) STRICT;
CREATE INDEX page_kept ON page (kept_until);

-- Each body once.
CREATE TABLE body (
    id     INTEGER PRIMARY KEY,
    hash   BLOB    NOT NULL UNIQUE,
    -- how many pages have it
    pages  INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    -- zstd
    packed BLOB    NOT NULL
) STRICT;

-- The cache.
CREATE TABLE shelf (
    key           BLOB    NOT NULL PRIMARY KEY,
    page          INTEGER NOT NULL,
    fresh_until   INTEGER NOT NULL,
    etag          TEXT,
    last_modified TEXT,
    used_at       INTEGER NOT NULL,
    -- packed
    bytes         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX shelf_used ON shelf (used_at, key);

-- One row: what is on the shelf.
CREATE TABLE shelf_size (entries INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
INSERT INTO shelf_size (entries, bytes) VALUES (0, 0);

CREATE TABLE device (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    grp         INTEGER,
    secret_hash BLOB    NOT NULL UNIQUE,
    -- JSON
    about       TEXT    NOT NULL,
    blocked     INTEGER NOT NULL DEFAULT 0,
    joined_at   INTEGER NOT NULL,
    seen_at     INTEGER NOT NULL,
    has_left    INTEGER NOT NULL DEFAULT 0,
    -- JSON
    measures    TEXT    NOT NULL,
    tally       TEXT    NOT NULL,
    UNIQUE (owner, name)
) STRICT;
CREATE INDEX device_grp ON device (grp) WHERE grp IS NOT NULL;
