-- Members, who leads, what each medic shall run; the fence around what a leader writes; commits whose answer was lost.

CREATE TABLE cluster_member (
    id         BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       TEXT    NOT NULL,
    machine    TEXT    NOT NULL,
    address    TEXT,
    -- JSON
    roles      TEXT    NOT NULL,
    version    TEXT    NOT NULL,
    -- the member that started it
    medic      BIGINT,
    supervises BOOLEAN NOT NULL,
    -- JSON
    load       TEXT    NOT NULL,
    joined_at  BIGINT  NOT NULL,
    seen_at    BIGINT  NOT NULL,
    -- when the leader gave it up
    lost_at    BIGINT,
    to_restart BOOLEAN NOT NULL DEFAULT false
) WITH (fillfactor = 50);

-- Who leads, or led last: one row.
CREATE TABLE cluster_leader (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    -- 0: nobody ever did
    term   BIGINT NOT NULL,
    member BIGINT NOT NULL,
    name   TEXT   NOT NULL,
    since  BIGINT NOT NULL,
    until  BIGINT NOT NULL
) WITH (fillfactor = 50);
INSERT INTO cluster_leader (id, term, member, name, since, until) VALUES (1, 0, 0, '', 0, 0);

-- The term alone. Only an election changes it, and waits for all who write under it.
CREATE TABLE cluster_term (
    id   BIGINT PRIMARY KEY CHECK (id = 1),
    term BIGINT NOT NULL
);
INSERT INTO cluster_term (id, term) VALUES (1, 0);

CREATE TABLE cluster_past (
    term       BIGINT PRIMARY KEY,
    name       TEXT   NOT NULL,
    began_at   BIGINT NOT NULL,
    held_until BIGINT NOT NULL
);

-- How many processes of a role a medic shall run.
CREATE TABLE cluster_assignment (
    medic BIGINT NOT NULL,
    role  TEXT   COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (medic, role)
);

CREATE TABLE cluster_rolling (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    begun_by TEXT   NOT NULL,
    begun_at BIGINT NOT NULL,
    ended_at BIGINT,
    note     TEXT
);
CREATE UNIQUE INDEX cluster_rolling_one ON cluster_rolling ((true)) WHERE ended_at IS NULL;

CREATE TABLE cluster_restart (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       BIGINT NOT NULL,
    machine  TEXT   NOT NULL,
    role     TEXT   NOT NULL,
    -- JSON
    why      TEXT   NOT NULL,
    note     TEXT   NOT NULL,
    delay_ms BIGINT NOT NULL
);

-- A transaction that must not be done twice leaves its token. If the connection breaks while it commits, the token tells
-- whether it did (postgres/commit.rs).
CREATE TABLE commit_token (
    token   BYTEA       PRIMARY KEY,
    at      TIMESTAMPTZ NOT NULL DEFAULT now(),
    -- somebody asked before it was there: the transaction can commit no more
    refused BOOLEAN     NOT NULL DEFAULT false,
    -- the answer, of transactions that are one statement: it is lost with the connection
    ids     BIGINT[],
    fresh   BOOLEAN[]
);
-- Rows lie in the order of time.
CREATE INDEX commit_token_at ON commit_token USING brin (at) WITH (pages_per_range = 16, autosummarize = on);

-- The fence. A session with the setting malla.term belongs to a leader: it changes nothing once another term began.
-- MA002: it was deposed.
CREATE FUNCTION malla_under_term() RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('malla.term', true) <> '' THEN
        PERFORM 1 FROM cluster_term WHERE id = 1 AND term = current_setting('malla.term')::BIGINT FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'another member leads now' USING ERRCODE = 'MA002';
        END IF;
    END IF;
END $$;

-- Costs a statement of a session without a term 3 microseconds; as the trigger's condition it would be twice as much.
CREATE FUNCTION malla_fenced() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('malla.term', true) <> '' THEN
        PERFORM malla_under_term();
    END IF;
    RETURN NULL;
END $$;

-- Puts the fence around all tables that have none: a migration that makes tables ends with it. Outside stay the term itself,
-- and the tokens, so that it can always be asked what became of a transaction.
CREATE FUNCTION malla_fence_tables() RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    name TEXT;
BEGIN
    FOR name IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = current_schema()::TEXT::REGNAMESPACE AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND c.relname NOT IN ('refinery_schema_history', 'cluster_term', 'commit_token')
          AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'fence')
    LOOP
        EXECUTE format(
            'CREATE TRIGGER fence BEFORE INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT '
            'EXECUTE FUNCTION malla_fenced()',
            name
        );
    END LOOP;
END $$;
SELECT malla_fence_tables();
