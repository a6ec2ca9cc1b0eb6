-- Checks of what devices bring and how they stand, the ledger, sites that are never fetched, what clients have used.

-- A client that waits until its results were checked.
ALTER TABLE job ADD COLUMN verified BOOLEAN NOT NULL DEFAULT FALSE;
-- A second device has brought the same.
ALTER TABLE page ADD COLUMN verified BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE trust_check (
    id       BIGINT PRIMARY KEY,
    kind     TEXT    NOT NULL,
    state    TEXT    NOT NULL,
    -- devices
    first    BIGINT,
    second   BIGINT,
    at       BIGINT NOT NULL,
    ended_at BIGINT,
    -- clients wait for it
    held     BIGINT NOT NULL,
    -- JSON: all of it
    body     TEXT    NOT NULL
);
CREATE INDEX trust_check_open ON trust_check (at) WHERE ended_at IS NULL;
CREATE INDEX trust_check_first ON trust_check (first, id) WHERE first IS NOT NULL;
CREATE INDEX trust_check_second ON trust_check (second, id) WHERE second IS NOT NULL;
CREATE INDEX trust_check_at ON trust_check (at);

CREATE TABLE repute (
    -- device:N or user:NAME
    subject TEXT NOT NULL PRIMARY KEY,
    -- JSON
    state   TEXT NOT NULL
);

-- What a device brought in one commit, so that it can be found again.
CREATE TABLE haul (
    id     BIGINT PRIMARY KEY,
    device BIGINT NOT NULL,
    owner  TEXT    NOT NULL,
    at     BIGINT NOT NULL,
    -- JSON: the numbers of pages
    pages  TEXT    NOT NULL
);
CREATE INDEX haul_device ON haul (device, id);
CREATE INDEX haul_at ON haul (at);

-- What a convicted device had brought and the cache has lost: to be fetched again.
CREATE TABLE refetch (
    id     BIGINT PRIMARY KEY,
    device BIGINT NOT NULL,
    -- JSON
    urls   TEXT   NOT NULL
);

-- One row: the key of our control site's marks.
CREATE TABLE control_key (one BIGINT PRIMARY KEY CHECK (one = 1), secret BYTEA NOT NULL);

CREATE TABLE ledger_account (
    name       TEXT    NOT NULL PRIMARY KEY,
    -- micro-credits
    balance    BIGINT NOT NULL,
    -- of it, from entries that are not kept any more
    carried    BIGINT NOT NULL,
    touched_at BIGINT NOT NULL
);

CREATE TABLE ledger_entry (
    id       BIGINT PRIMARY KEY,
    transfer BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    account  TEXT    NOT NULL,
    amount   BIGINT NOT NULL,
    pages    BIGINT NOT NULL,
    what     TEXT    NOT NULL,
    note     TEXT
);
CREATE INDEX ledger_entry_account ON ledger_entry (account, id);

CREATE TABLE blocked_site (
    pattern TEXT    NOT NULL PRIMARY KEY,
    why     TEXT    NOT NULL,
    contact TEXT,
    actor   TEXT    NOT NULL,
    at      BIGINT NOT NULL
);

CREATE TABLE quota_use (
    day    BIGINT NOT NULL,
    client TEXT    NOT NULL,
    pages  BIGINT NOT NULL,
    bytes  BIGINT NOT NULL,
    PRIMARY KEY (day, client)
);

SELECT malla_fence_tables();
