-- Tours: crawls, watches and comparisons, each with a job that stays open and a task that stands for it.
--
-- A verb of tours locks the tour first, then lanes, then its job.

-- It tells itself what has changed: a watch.
ALTER TABLE job ADD COLUMN quiet BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE tour (
    -- its job's
    id          BIGINT   PRIMARY KEY,
    grp         BIGINT,
    kind        TEXT    COLLATE "C" NOT NULL,
    -- 0 running, 1 paused, 2 done, 3 cancelled, 4 failed
    state       SMALLINT NOT NULL,
    -- JSON
    spec        TEXT    NOT NULL,
    progress    TEXT    NOT NULL,
    -- answers of its job that are read
    answers     BIGINT NOT NULL DEFAULT 0,
    asked       BIGINT NOT NULL DEFAULT 0,
    sitemaps    BIGINT NOT NULL DEFAULT 0,
    found       BIGINT NOT NULL DEFAULT 0,
    waiting     BIGINT NOT NULL DEFAULT 0,
    trapped     BIGINT NOT NULL DEFAULT 0,
    left_out    BIGINT NOT NULL DEFAULT 0,
    versions    BIGINT NOT NULL DEFAULT 0,
    weight      DOUBLE PRECISION    NOT NULL DEFAULT 0,
    -- the one that stands for it
    task        BIGINT NOT NULL,
    note        TEXT,
    finished_at BIGINT,
    -- nobody sees it any more
    forgotten   BOOLEAN NOT NULL DEFAULT false
);
CREATE INDEX tour_kind ON tour (kind, id);
CREATE INDEX tour_grp ON tour (grp, kind, id) WHERE grp IS NOT NULL;
CREATE INDEX tour_open ON tour (kind, state, weight) WHERE state < 2;
CREATE INDEX tour_finished ON tour (finished_at) WHERE finished_at IS NOT NULL;

-- What a tour has found, each once, and what of it is not asked for yet.
CREATE TABLE tour_url (
    tour    BIGINT NOT NULL,
    key     BYTEA    NOT NULL,
    site    TEXT    COLLATE "C" NOT NULL,
    -- empty once it is asked for
    url     TEXT    NOT NULL,
    depth   INTEGER NOT NULL,
    sitemap BOOLEAN NOT NULL,
    n       BIGINT NOT NULL,
    waiting BOOLEAN NOT NULL,
    PRIMARY KEY (tour, key)
);
CREATE INDEX tour_url_waiting ON tour_url (tour, site, depth, n) WHERE waiting;

CREATE TABLE tour_site (
    tour      BIGINT NOT NULL,
    site      TEXT    COLLATE "C" NOT NULL,
    waiting   BIGINT NOT NULL,
    under_way BIGINT NOT NULL,
    -- its place in the line: who was asked goes to the end
    turn      BIGINT NOT NULL,
    PRIMARY KEY (tour, site)
);
CREATE INDEX tour_site_turn ON tour_site (tour, turn) WHERE waiting > 0;

-- How many pages of one making were found.
CREATE TABLE tour_shape (
    tour  BIGINT NOT NULL,
    shape BYTEA    NOT NULL,
    n     BIGINT NOT NULL,
    PRIMARY KEY (tour, shape)
);

CREATE TABLE tour_version (
    tour  BIGINT NOT NULL,
    n     BIGINT NOT NULL,
    at    BIGINT NOT NULL,
    -- JSON
    facts TEXT    NOT NULL,
    -- zstd
    text  BYTEA    NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (tour, n)
);

-- Pages that wait for a device of a certain kind.
CREATE TABLE pin (
    job      BIGINT NOT NULL,
    seq      BIGINT NOT NULL,
    -- a country, or a device
    place    TEXT    COLLATE "C" NOT NULL,
    -- as it is answered
    label    TEXT    NOT NULL,
    url      TEXT    NOT NULL,
    deadline BIGINT NOT NULL,
    PRIMARY KEY (job, seq)
);
CREATE INDEX pin_place ON pin (place, job, seq);
CREATE INDEX pin_deadline ON pin (deadline);

SELECT malla_fence_tables();
