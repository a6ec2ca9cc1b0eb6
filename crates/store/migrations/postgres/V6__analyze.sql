-- Analyses: their batches, partials and answers.
--
-- A verb of analyze locks the analysis first, then the lane of its tasks: so all is in line for each analysis. What
-- sweeps passes over what is locked.

CREATE TABLE analysis (
    id            BIGINT   PRIMARY KEY,
    grp           BIGINT,
    kind          TEXT     NOT NULL,
    -- JSON
    params        TEXT     NOT NULL,
    -- 0 collecting, 1 computing, 2 succeeded, 3 failed, 4 cancelled
    state         SMALLINT NOT NULL,
    created_at    BIGINT   NOT NULL,
    changed_at    BIGINT   NOT NULL,
    finished_at   BIGINT,
    expected      BIGINT,
    taken         BIGINT   NOT NULL DEFAULT 0,
    mapped        BIGINT   NOT NULL DEFAULT 0,
    bytes         BIGINT   NOT NULL DEFAULT 0,
    waiting_bytes BIGINT   NOT NULL DEFAULT 0,
    lines_read    BIGINT   NOT NULL DEFAULT 0,
    lines_bad     BIGINT   NOT NULL DEFAULT 0,
    -- JSON: lines that could not be read
    samples       TEXT     NOT NULL,
    why           TEXT,
    -- the task that makes the answers
    reduce        BIGINT,
    -- it is over, and something of it is still to be dropped
    leftover      BOOLEAN  NOT NULL DEFAULT false,
    -- nobody sees it any more
    forgotten     BOOLEAN  NOT NULL DEFAULT false
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX analysis_grp ON analysis (grp, id) WHERE grp IS NOT NULL;
-- As many as may be under way at once. None of these indexes has what a batch changes, so that the row is changed in place.
CREATE INDEX analysis_under_way ON analysis (id) WHERE state < 2;
CREATE INDEX analysis_leftover ON analysis (id) WHERE leftover;
CREATE INDEX analysis_finished ON analysis (finished_at) WHERE finished_at IS NOT NULL AND NOT forgotten;

CREATE TABLE analysis_part (
    analysis        BIGINT  NOT NULL,
    part            TEXT    COLLATE "C" NOT NULL,
    -- its records have begun to come
    sealed          BOOLEAN NOT NULL,
    -- packed
    dimension_bytes BIGINT  NOT NULL,
    PRIMARY KEY (analysis, part)
);

-- Batches that came, without their bytes.
CREATE TABLE analysis_batch (
    analysis BIGINT  NOT NULL,
    input    TEXT    COLLATE "C" NOT NULL,
    part     TEXT    COLLATE "C" NOT NULL,
    seq      BIGINT  NOT NULL,
    hash     BYTEA   NOT NULL,
    size     BIGINT  NOT NULL,
    mapped   BOOLEAN NOT NULL,
    PRIMARY KEY (analysis, input, part, seq)
) WITH (fillfactor = 70);

-- The bytes of dimensions.
CREATE TABLE analysis_dimension (
    analysis BIGINT NOT NULL,
    part     TEXT   COLLATE "C" NOT NULL,
    input    TEXT   COLLATE "C" NOT NULL,
    seq      BIGINT NOT NULL,
    -- zstd
    packed   BYTEA  NOT NULL,
    PRIMARY KEY (analysis, part, input, seq)
);
ALTER TABLE analysis_dimension ALTER COLUMN packed SET STORAGE EXTERNAL;

-- The bytes of records that are not mapped yet, with the task that maps them.
CREATE TABLE analysis_waiting (
    analysis BIGINT NOT NULL,
    input    TEXT   COLLATE "C" NOT NULL,
    part     TEXT   COLLATE "C" NOT NULL,
    seq      BIGINT NOT NULL,
    task     BIGINT NOT NULL,
    -- packed
    bytes    BIGINT NOT NULL,
    -- zstd
    packed   BYTEA  NOT NULL,
    PRIMARY KEY (analysis, input, part, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
ALTER TABLE analysis_waiting ALTER COLUMN packed SET STORAGE EXTERNAL;

-- What batches of records have become.
CREATE TABLE analysis_partial (
    analysis BIGINT NOT NULL,
    part     TEXT   COLLATE "C" NOT NULL,
    input    TEXT   COLLATE "C" NOT NULL,
    seq      BIGINT NOT NULL,
    partial  BYTEA  NOT NULL,
    PRIMARY KEY (analysis, part, input, seq)
);

CREATE TABLE analysis_answer (
    analysis BIGINT NOT NULL,
    name     TEXT   COLLATE "C" NOT NULL,
    body     BYTEA  NOT NULL,
    PRIMARY KEY (analysis, name)
);
