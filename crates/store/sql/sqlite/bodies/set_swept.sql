UPDATE object_store SET swept = max(swept, ?1)
