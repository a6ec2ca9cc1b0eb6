-- Tours: crawls, watches and comparisons, each with a job that stays open and a task that stands for it.

-- It tells itself what has changed: a watch.
ALTER TABLE job ADD COLUMN quiet INTEGER NOT NULL DEFAULT 0;

CREATE TABLE tour (
    -- its job's
    id          INTEGER PRIMARY KEY,
    grp         INTEGER,
    kind        TEXT    NOT NULL,
    -- 0 running, 1 paused, 2 done, 3 cancelled, 4 failed
    state       INTEGER NOT NULL,
    -- JSON
    spec        TEXT    NOT NULL,
    progress    TEXT    NOT NULL,
    -- answers of its job that are read
    answers     INTEGER NOT NULL DEFAULT 0,
    asked       INTEGER NOT NULL DEFAULT 0,
    sitemaps    INTEGER NOT NULL DEFAULT 0,
    found       INTEGER NOT NULL DEFAULT 0,
    waiting     INTEGER NOT NULL DEFAULT 0,
    trapped     INTEGER NOT NULL DEFAULT 0,
    left_out    INTEGER NOT NULL DEFAULT 0,
    versions    INTEGER NOT NULL DEFAULT 0,
    weight      REAL    NOT NULL DEFAULT 0,
    -- the one that stands for it
    task        INTEGER NOT NULL,
    note        TEXT,
    finished_at INTEGER,
    -- nobody sees it any more
    forgotten   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tour_kind ON tour (kind, id);
CREATE INDEX tour_grp ON tour (grp, kind, id) WHERE grp IS NOT NULL;
CREATE INDEX tour_open ON tour (kind, state, weight) WHERE state < 2;
CREATE INDEX tour_finished ON tour (finished_at) WHERE finished_at IS NOT NULL;

-- What a tour has found, each once, and what of it is not asked for yet.
CREATE TABLE tour_url (
    tour    INTEGER NOT NULL,
    key     BLOB    NOT NULL,
    site    TEXT    NOT NULL,
    -- empty once it is asked for
    url     TEXT    NOT NULL,
    depth   INTEGER NOT NULL,
    sitemap INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    PRIMARY KEY (tour, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX tour_url_waiting ON tour_url (tour, site, depth, n) WHERE waiting = 1;

CREATE TABLE tour_site (
    tour      INTEGER NOT NULL,
    site      TEXT    NOT NULL,
    waiting   INTEGER NOT NULL,
    under_way INTEGER NOT NULL,
    -- its place in the line: who was asked goes to the end
    turn      INTEGER NOT NULL,
    PRIMARY KEY (tour, site)
) STRICT, WITHOUT ROWID;
CREATE INDEX tour_site_turn ON tour_site (tour, turn) WHERE waiting > 0;

-- How many pages of one making were found.
CREATE TABLE tour_shape (
    tour  INTEGER NOT NULL,
    shape BLOB    NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (tour, shape)
) STRICT, WITHOUT ROWID;

CREATE TABLE tour_version (
    tour  INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    at    INTEGER NOT NULL,
    -- JSON
    facts TEXT    NOT NULL,
    -- zstd
    text  BLOB    NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (tour, n)
) STRICT;

-- Pages that wait for a device of a certain kind.
CREATE TABLE pin (
    job      INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    -- a country, or a device
    place    TEXT    NOT NULL,
    -- as it is answered
    label    TEXT    NOT NULL,
    url      TEXT    NOT NULL,
    deadline INTEGER NOT NULL,
    PRIMARY KEY (job, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX pin_place ON pin (place, job, seq);
CREATE INDEX pin_deadline ON pin (deadline);
