-- What is counted about endpoints and subscriptions, and the alerts that look at it.

-- step: 0 minute, 1 hour, 2 day; subject_kind: 0 endpoint, 1 subscription
CREATE TABLE figure (
    step         SMALLINT NOT NULL,
    subject_kind SMALLINT NOT NULL,
    subject      BIGINT   NOT NULL,
    begin_at     BIGINT   NOT NULL,
    process      TEXT     COLLATE "C" NOT NULL,
    -- JSON
    body         TEXT     NOT NULL,
    PRIMARY KEY (step, subject_kind, subject, begin_at, process)
);
CREATE INDEX figure_begin ON figure (step, begin_at);

CREATE TABLE alert (
    id            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          TEXT   COLLATE "C" NOT NULL UNIQUE,
    grp           BIGINT REFERENCES grp (id),
    -- JSON
    spec          TEXT   NOT NULL,
    -- JSON: the subscriptions of which the last notice said that they are in trouble
    firing        TEXT   NOT NULL DEFAULT '[]',
    last_fired_at BIGINT,
    created_at    BIGINT NOT NULL
);
CREATE INDEX alert_grp ON alert (grp) WHERE grp IS NOT NULL;
