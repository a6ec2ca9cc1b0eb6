-- Wikis: pages, their revisions and texts, extractions and dumps.

CREATE TABLE wiki (
    id         INTEGER PRIMARY KEY,
    grp        INTEGER,
    api        TEXT    NOT NULL,
    -- scheme://host:port
    origin     TEXT    NOT NULL,
    locale     TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    -- JSON
    about      TEXT    NOT NULL,
    scraped    INTEGER NOT NULL,
    found_at   INTEGER NOT NULL,
    pages      INTEGER NOT NULL DEFAULT 0,
    revisions  INTEGER NOT NULL DEFAULT 0,
    -- names in wiki_editor
    editors    INTEGER NOT NULL DEFAULT 0,
    -- visits that nobody asked for, of one day since 1970
    visits_day INTEGER NOT NULL DEFAULT 0,
    visits     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX wiki_api ON wiki (coalesce(grp, 0), api);
CREATE INDEX wiki_origin ON wiki (origin);

CREATE TABLE wiki_page (
    -- inside this store
    id               INTEGER PRIMARY KEY,
    wiki             INTEGER NOT NULL,
    pageid           INTEGER NOT NULL,
    title            TEXT    NOT NULL,
    ns               INTEGER NOT NULL,
    deleted          INTEGER NOT NULL,
    first_extraction INTEGER NOT NULL,
    last_extraction  INTEGER NOT NULL,
    newest_at        INTEGER,
    newest_revid     INTEGER,
    mark_at          INTEGER,
    mark_revid       INTEGER,
    complete_at      INTEGER,
    reconciled_at    INTEGER,
    visited_at       INTEGER,
    pulse_edits      INTEGER,
    pulse_first      INTEGER,
    pulse_last       INTEGER,
    revisions        INTEGER NOT NULL DEFAULT 0,
    version          INTEGER NOT NULL DEFAULT 0,
    last_block       INTEGER,
    watched          INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE UNIQUE INDEX wiki_page_number ON wiki_page (wiki, pageid);
CREATE INDEX wiki_page_title ON wiki_page (title);
-- the pages with the most edits
CREATE INDEX wiki_page_revisions ON wiki_page (wiki, revisions DESC, pageid);

-- Names are many times shorter as numbers.
CREATE TABLE wiki_user (
    id   INTEGER PRIMARY KEY,
    name TEXT    NOT NULL UNIQUE
) STRICT;

-- What is counted and sorted by, and nothing more: scans of it shall be short. Clustered as a history is read.
CREATE TABLE wiki_revision (
    page         INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    revid        INTEGER NOT NULL,
    wiki         INTEGER NOT NULL,
    parentid     INTEGER NOT NULL,
    -- of wiki_user; NULL: hidden
    editor       INTEGER,
    userid       INTEGER,
    size         INTEGER NOT NULL,
    -- 1 minor, 2 anonymous, 4 the text is hidden
    flags        INTEGER NOT NULL,
    extracted_at INTEGER NOT NULL,
    PRIMARY KEY (page, at, revid)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX wiki_revision_number ON wiki_revision (wiki, revid);
-- Each of these also has the page, the time and the number, as every index of this table. Days are counted from
-- 0000-03-01, so that none is negative; groups of days make months and years.
CREATE INDEX wiki_revision_day ON wiki_revision ((at + 62162035200000) / 86400000, size);
CREATE INDEX wiki_revision_user ON wiki_revision (editor, at, size);
CREATE INDEX wiki_revision_userid ON wiki_revision (userid);
CREATE INDEX wiki_revision_size ON wiki_revision (size);

-- The rest of a revision.
CREATE TABLE wiki_note (
    wiki           INTEGER NOT NULL,
    revid          INTEGER NOT NULL,
    sha1           TEXT,
    model          TEXT    NOT NULL,
    format         TEXT    NOT NULL,
    comment        TEXT,
    parsed_comment TEXT,
    -- JSON; NULL: none
    tags           TEXT,
    -- its text's hash
    text           BLOB,
    PRIMARY KEY (wiki, revid)
) STRICT, WITHOUT ROWID;

CREATE TABLE wiki_tag (
    tag   TEXT    NOT NULL,
    wiki  INTEGER NOT NULL,
    revid INTEGER NOT NULL,
    PRIMARY KEY (tag, wiki, revid)
) STRICT, WITHOUT ROWID;
CREATE INDEX wiki_tag_revision ON wiki_tag (wiki, revid);

-- Edits of a wiki by month, counted from the year 0; a month without any is not here.
CREATE TABLE wiki_month (
    wiki      INTEGER NOT NULL,
    month     INTEGER NOT NULL,
    edits     INTEGER NOT NULL,
    minor     INTEGER NOT NULL,
    anonymous INTEGER NOT NULL,
    PRIMARY KEY (wiki, month)
) STRICT, WITHOUT ROWID;

-- Edits of a wiki by wiki_user; who has none is not here.
CREATE TABLE wiki_editor (
    wiki   INTEGER NOT NULL,
    editor INTEGER NOT NULL,
    edits  INTEGER NOT NULL,
    PRIMARY KEY (wiki, editor)
) STRICT, WITHOUT ROWID;
CREATE INDEX wiki_editor_edits ON wiki_editor (wiki, edits DESC, editor);

-- A page's history counted up to a revision; forgotten when anything up to it changes.
CREATE TABLE wiki_tally (
    page   INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    revid  INTEGER NOT NULL,
    packed BLOB    NOT NULL
) STRICT;

-- Texts packed together.
CREATE TABLE wiki_block (
    page   INTEGER NOT NULL,
    number INTEGER NOT NULL,
    -- unpacked
    bytes  INTEGER NOT NULL,
    -- zstd
    packed BLOB    NOT NULL,
    PRIMARY KEY (page, number)
) STRICT;

CREATE TABLE wiki_text (
    page   INTEGER NOT NULL,
    hash   BLOB    NOT NULL,
    block  INTEGER NOT NULL,
    start  INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (page, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX wiki_text_block ON wiki_text (page, block);

CREATE TABLE wiki_extraction (
    id          INTEGER PRIMARY KEY,
    grp         INTEGER,
    asked       TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    -- 0 pending, 1 in progress, 2 succeeded, 3 failed
    state       INTEGER NOT NULL,
    wiki        INTEGER,
    pageid      INTEGER,
    title       TEXT,
    requests    INTEGER NOT NULL DEFAULT 0,
    done        INTEGER NOT NULL DEFAULT 0,
    total       INTEGER,
    new         INTEGER NOT NULL DEFAULT 0,
    erased      INTEGER NOT NULL DEFAULT 0,
    note        TEXT,
    asked_at    INTEGER NOT NULL,
    started_at  INTEGER,
    changed_at  INTEGER NOT NULL,
    finished_at INTEGER,
    -- the task of its next step
    task        INTEGER NOT NULL
) STRICT;
CREATE INDEX wiki_extraction_grp ON wiki_extraction (grp, id) WHERE grp IS NOT NULL;
CREATE UNIQUE INDEX wiki_extraction_under_way ON wiki_extraction (coalesce(grp, 0), key) WHERE state < 2;
CREATE INDEX wiki_extraction_finished ON wiki_extraction (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE wiki_import (
    id         INTEGER PRIMARY KEY,
    wiki       INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    batches    INTEGER NOT NULL DEFAULT 0,
    pages      INTEGER NOT NULL DEFAULT 0,
    revisions  INTEGER NOT NULL DEFAULT 0,
    finished   INTEGER NOT NULL DEFAULT 0,
    begun_at   INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX wiki_import_name ON wiki_import (wiki, name);
