-- Checks of what devices bring and how they stand, the ledger, sites that are never fetched, what clients have used.

-- A client that waits until its results were checked.
ALTER TABLE job ADD COLUMN verified INTEGER NOT NULL DEFAULT 0;
-- A second device has brought the same.
ALTER TABLE page ADD COLUMN verified INTEGER NOT NULL DEFAULT 0;

CREATE TABLE trust_check (
    id       INTEGER PRIMARY KEY,
    kind     TEXT    NOT NULL,
    state    TEXT    NOT NULL,
    -- devices
    first    INTEGER,
    second   INTEGER,
    at       INTEGER NOT NULL,
    ended_at INTEGER,
    -- clients wait for it
    held     INTEGER NOT NULL,
    -- JSON: all of it
    body     TEXT    NOT NULL
) STRICT;
CREATE INDEX trust_check_open ON trust_check (at) WHERE ended_at IS NULL;
CREATE INDEX trust_check_first ON trust_check (first, id) WHERE first IS NOT NULL;
CREATE INDEX trust_check_second ON trust_check (second, id) WHERE second IS NOT NULL;
CREATE INDEX trust_check_at ON trust_check (at);

CREATE TABLE repute (
    -- device:N or user:NAME
    subject TEXT NOT NULL PRIMARY KEY,
    -- JSON
    state   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a device brought in one commit, so that it can be found again.
CREATE TABLE haul (
    id     INTEGER PRIMARY KEY,
    device INTEGER NOT NULL,
    owner  TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    -- JSON: the numbers of pages
    pages  TEXT    NOT NULL
) STRICT;
CREATE INDEX haul_device ON haul (device, id);
CREATE INDEX haul_at ON haul (at);

-- What a convicted device had brought and the cache has lost: to be fetched again.
CREATE TABLE refetch (
    id     INTEGER PRIMARY KEY,
    device INTEGER NOT NULL,
    -- JSON
    urls   TEXT    NOT NULL
) STRICT;

-- One row: the key of our control site's marks.
CREATE TABLE control_key (one INTEGER PRIMARY KEY CHECK (one = 1), secret BLOB NOT NULL) STRICT;

CREATE TABLE ledger_account (
    name       TEXT    NOT NULL PRIMARY KEY,
    -- micro-credits
    balance    INTEGER NOT NULL,
    -- of it, from entries that are not kept any more
    carried    INTEGER NOT NULL,
    touched_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger_entry (
    id       INTEGER PRIMARY KEY,
    transfer INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    account  TEXT    NOT NULL,
    amount   INTEGER NOT NULL,
    pages    INTEGER NOT NULL,
    what     TEXT    NOT NULL,
    note     TEXT
) STRICT;
CREATE INDEX ledger_entry_account ON ledger_entry (account, id);

CREATE TABLE blocked_site (
    pattern TEXT    NOT NULL PRIMARY KEY,
    why     TEXT    NOT NULL,
    contact TEXT,
    actor   TEXT    NOT NULL,
    at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE quota_use (
    day    INTEGER NOT NULL,
    client TEXT    NOT NULL,
    pages  INTEGER NOT NULL,
    bytes  INTEGER NOT NULL,
    PRIMARY KEY (day, client)
) STRICT, WITHOUT ROWID;
