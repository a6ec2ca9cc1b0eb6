-- Endpoints, subscriptions and the search for words in bodies.

CREATE TABLE endpoint (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    grp        INTEGER REFERENCES grp (id),
    -- JSON
    options    TEXT    NOT NULL,
    -- from the options: how long its events are kept; NULL: as the house says
    keep_days  INTEGER,
    -- rises with every change of the endpoint or of a subscription to it
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX endpoint_grp ON endpoint (grp) WHERE grp IS NOT NULL;

-- Where Malla's own events arrive.
INSERT INTO endpoint (id, name, options, created_at) VALUES (1, 'system', '{}', unixepoch() * 1000);

-- state: 0 active, 1 suspended, 2 disabled
CREATE TABLE subscription (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT    NOT NULL UNIQUE,
    endpoint   INTEGER NOT NULL REFERENCES endpoint (id),
    grp        INTEGER REFERENCES grp (id),
    state      INTEGER NOT NULL,
    -- JSON
    spec       TEXT    NOT NULL,
    -- from the spec: the retry delays as its tasks have them
    retry      TEXT,
    lane       INTEGER NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX subscription_endpoint ON subscription (endpoint, name);
CREATE INDEX subscription_grp ON subscription (grp) WHERE grp IS NOT NULL;
CREATE INDEX subscription_disabled ON subscription (id) WHERE state = 2;

-- By this the file of words beside this one is known as its own.
CREATE TABLE store (identity TEXT NOT NULL) STRICT;
INSERT INTO store (identity) VALUES (hex(randomblob(16)));
