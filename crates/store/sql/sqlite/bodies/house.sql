SELECT id FROM object_store
