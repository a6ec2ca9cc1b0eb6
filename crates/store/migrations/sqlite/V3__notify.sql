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

-- Which events have which words; rowid is the event's id. The program cuts bodies into words (lower case, letters and
-- digits, so that a word, a number, an id, each part of a UUID or of an e-mail address is one) and gives them parted by
-- spaces: `ascii` takes them as they come. Only "is it there" is asked, so no places are kept, nor the text.
CREATE VIRTUAL TABLE event_words USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

-- How far that has come: events up to this id.
CREATE TABLE event_index (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    mark INTEGER NOT NULL
) STRICT;
INSERT INTO event_index (id, mark) VALUES (1, 0);
