UPDATE object_store SET swept = greatest(swept, $1)
