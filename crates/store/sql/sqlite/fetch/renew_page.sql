UPDATE page SET headers = ?2, kept_until = max(kept_until, ?3) WHERE id = ?1
