-- What is counted about endpoints and subscriptions, and the alerts that look at it.

-- step: 0 minute, 1 hour, 2 day; subject_kind: 0 endpoint, 1 subscription
CREATE TABLE figure (
    step         INTEGER NOT NULL,
    subject_kind INTEGER NOT NULL,
    subject      INTEGER NOT NULL,
    begin_at     INTEGER NOT NULL,
    process      TEXT    NOT NULL,
    -- JSON
    body         TEXT    NOT NULL,
    PRIMARY KEY (step, subject_kind, subject, begin_at, process)
) STRICT, WITHOUT ROWID;
CREATE INDEX figure_begin ON figure (step, begin_at);

CREATE TABLE alert (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL UNIQUE,
    grp           INTEGER REFERENCES grp (id),
    -- JSON
    spec          TEXT    NOT NULL,
    -- JSON: the subscriptions of which the last notice said that they are in trouble
    firing        TEXT    NOT NULL DEFAULT '[]',
    last_fired_at INTEGER,
    created_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_grp ON alert (grp) WHERE grp IS NOT NULL;
