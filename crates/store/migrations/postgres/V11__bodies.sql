-- Large bodies may lie in an object store: the row has its name there, and no bytes.
ALTER TABLE body ADD COLUMN object TEXT;
CREATE UNIQUE INDEX body_object ON body (object) WHERE object IS NOT NULL;
ALTER TABLE wiki_block ADD COLUMN object TEXT;
CREATE UNIQUE INDEX wiki_block_object ON wiki_block (object) WHERE object IS NOT NULL;

-- One row: what this store's objects begin with, and up to which window they were compared with the rows.
CREATE TABLE object_store (
    id    TEXT   NOT NULL,
    swept BIGINT NOT NULL DEFAULT 0
);
INSERT INTO object_store (id) VALUES (substr(md5(gen_random_uuid()::text), 1, 16));

-- Objects that no row names any more, to be removed. A name is never given twice, so none of them comes back.
CREATE TABLE dead_object (
    name  TEXT PRIMARY KEY,
    -- when that was noticed
    since BIGINT
);
CREATE INDEX dead_object_since ON dead_object (since);

-- No statement can forget to note them.
CREATE FUNCTION malla_object_left() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dead_object (name) VALUES (OLD.object) ON CONFLICT (name) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER object_left AFTER DELETE ON body
    FOR EACH ROW WHEN (OLD.object IS NOT NULL) EXECUTE FUNCTION malla_object_left();
CREATE TRIGGER object_changed AFTER UPDATE ON body
    FOR EACH ROW WHEN (OLD.object IS NOT NULL AND OLD.object IS DISTINCT FROM NEW.object) EXECUTE FUNCTION malla_object_left();
CREATE TRIGGER object_left AFTER DELETE ON wiki_block
    FOR EACH ROW WHEN (OLD.object IS NOT NULL) EXECUTE FUNCTION malla_object_left();
CREATE TRIGGER object_changed AFTER UPDATE ON wiki_block
    FOR EACH ROW WHEN (OLD.object IS NOT NULL AND OLD.object IS DISTINCT FROM NEW.object) EXECUTE FUNCTION malla_object_left();

-- A node of the version before writes a block's bytes and knows nothing of the object that it replaces.
CREATE FUNCTION malla_object_replaced() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    NEW.object := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER object_replaced BEFORE UPDATE ON wiki_block
    FOR EACH ROW WHEN (OLD.object = NEW.object AND octet_length(NEW.packed) > 0) EXECUTE FUNCTION malla_object_replaced();

SELECT malla_fence_tables();
