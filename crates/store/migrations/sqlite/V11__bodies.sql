-- Large bodies may lie in an object store: the row has its name there, and no bytes.
ALTER TABLE body ADD COLUMN object TEXT;
CREATE UNIQUE INDEX body_object ON body (object) WHERE object IS NOT NULL;
ALTER TABLE wiki_block ADD COLUMN object TEXT;
CREATE UNIQUE INDEX wiki_block_object ON wiki_block (object) WHERE object IS NOT NULL;

-- One row: what this store's objects begin with, and up to which window they were compared with the rows.
CREATE TABLE object_store (
    id    TEXT    NOT NULL,
    swept INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO object_store (id) VALUES (lower(hex(randomblob(8))));

-- Objects that no row names any more, to be removed. A name is never given twice, so none of them comes back.
CREATE TABLE dead_object (
    name  TEXT    NOT NULL PRIMARY KEY,
    -- when that was noticed
    since INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_object_since ON dead_object (since);

-- No statement can forget to note them.
CREATE TRIGGER body_object_left AFTER DELETE ON body WHEN OLD.object IS NOT NULL
BEGIN
    INSERT OR IGNORE INTO dead_object (name) VALUES (OLD.object);
END;
CREATE TRIGGER body_object_changed AFTER UPDATE OF object ON body WHEN OLD.object IS NOT NULL AND OLD.object IS NOT NEW.object
BEGIN
    INSERT OR IGNORE INTO dead_object (name) VALUES (OLD.object);
END;
CREATE TRIGGER wiki_block_object_left AFTER DELETE ON wiki_block WHEN OLD.object IS NOT NULL
BEGIN
    INSERT OR IGNORE INTO dead_object (name) VALUES (OLD.object);
END;
CREATE TRIGGER wiki_block_object_changed AFTER UPDATE OF object ON wiki_block WHEN OLD.object IS NOT NULL AND OLD.object IS NOT NEW.object
BEGIN
    INSERT OR IGNORE INTO dead_object (name) VALUES (OLD.object);
END;
