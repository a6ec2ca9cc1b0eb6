-- Members, who leads, what each medic shall run.

CREATE TABLE cluster_member (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL,
    machine    TEXT    NOT NULL,
    address    TEXT,
    -- JSON
    roles      TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    -- the member that started it
    medic      INTEGER,
    supervises INTEGER NOT NULL,
    -- JSON
    load       TEXT    NOT NULL,
    joined_at  INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    -- when the leader gave it up
    lost_at    INTEGER,
    to_restart INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Who leads, or led last: one row.
CREATE TABLE cluster_leader (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    -- 0: nobody ever did
    term   INTEGER NOT NULL,
    member INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL
) STRICT;
INSERT INTO cluster_leader (id, term, member, name, since, until) VALUES (1, 0, 0, '', 0, 0);

CREATE TABLE cluster_past (
    term       INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    began_at   INTEGER NOT NULL,
    held_until INTEGER NOT NULL
) STRICT;

-- How many processes of a role a medic shall run.
CREATE TABLE cluster_assignment (
    medic INTEGER NOT NULL,
    role  TEXT    NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (medic, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE cluster_rolling (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    begun_by TEXT    NOT NULL,
    begun_at INTEGER NOT NULL,
    ended_at INTEGER,
    note     TEXT
) STRICT;

CREATE TABLE cluster_restart (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    machine  TEXT    NOT NULL,
    role     TEXT    NOT NULL,
    -- JSON
    why      TEXT    NOT NULL,
    note     TEXT    NOT NULL,
    delay_ms INTEGER NOT NULL
) STRICT;
