-- Analyses: their batches, partials and answers.

CREATE TABLE analysis (
    id            INTEGER PRIMARY KEY,
    grp           INTEGER,
    kind          TEXT    NOT NULL,
    -- JSON
    params        TEXT    NOT NULL,
    -- 0 collecting, 1 computing, 2 succeeded, 3 failed, 4 cancelled
    state         INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    changed_at    INTEGER NOT NULL,
    finished_at   INTEGER,
    expected      INTEGER,
    taken         INTEGER NOT NULL DEFAULT 0,
    mapped        INTEGER NOT NULL DEFAULT 0,
    bytes         INTEGER NOT NULL DEFAULT 0,
    waiting_bytes INTEGER NOT NULL DEFAULT 0,
    lines_read    INTEGER NOT NULL DEFAULT 0,
    lines_bad     INTEGER NOT NULL DEFAULT 0,
    -- JSON: lines that could not be read
    samples       TEXT    NOT NULL,
    why           TEXT,
    -- the task that makes the answers
    reduce        INTEGER,
    -- it is over, and something of it is still to be dropped
    leftover      INTEGER NOT NULL DEFAULT 0,
    -- nobody sees it any more
    forgotten     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX analysis_grp ON analysis (grp, id) WHERE grp IS NOT NULL;
-- As many as may be under way at once.
CREATE INDEX analysis_under_way ON analysis (id) WHERE state < 2;
CREATE INDEX analysis_leftover ON analysis (id) WHERE leftover = 1;
CREATE INDEX analysis_finished ON analysis (finished_at) WHERE finished_at IS NOT NULL AND forgotten = 0;

CREATE TABLE analysis_part (
    analysis        INTEGER NOT NULL,
    part            TEXT    NOT NULL,
    -- its records have begun to come
    sealed          INTEGER NOT NULL,
    -- packed
    dimension_bytes INTEGER NOT NULL,
    PRIMARY KEY (analysis, part)
) STRICT, WITHOUT ROWID;

-- Batches that came, without their bytes.
CREATE TABLE analysis_batch (
    analysis INTEGER NOT NULL,
    input    TEXT    NOT NULL,
    part     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    hash     BLOB    NOT NULL,
    size     INTEGER NOT NULL,
    mapped   INTEGER NOT NULL,
    PRIMARY KEY (analysis, input, part, seq)
) STRICT;

-- The bytes of dimensions.
CREATE TABLE analysis_dimension (
    analysis INTEGER NOT NULL,
    part     TEXT    NOT NULL,
    input    TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    -- zstd
    packed   BLOB    NOT NULL,
    PRIMARY KEY (analysis, part, input, seq)
) STRICT;

-- The bytes of records that are not mapped yet, with the task that maps them.
CREATE TABLE analysis_waiting (
    analysis INTEGER NOT NULL,
    input    TEXT    NOT NULL,
    part     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    task     INTEGER NOT NULL,
    -- packed
    bytes    INTEGER NOT NULL,
    -- zstd
    packed   BLOB    NOT NULL,
    PRIMARY KEY (analysis, input, part, seq)
) STRICT;

-- What batches of records have become.
CREATE TABLE analysis_partial (
    analysis INTEGER NOT NULL,
    part     TEXT    NOT NULL,
    input    TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    partial  BLOB    NOT NULL,
    PRIMARY KEY (analysis, part, input, seq)
) STRICT;

CREATE TABLE analysis_answer (
    analysis INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    body     BLOB    NOT NULL,
    PRIMARY KEY (analysis, name)
) STRICT;
