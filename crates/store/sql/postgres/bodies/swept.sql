SELECT swept FROM object_store
