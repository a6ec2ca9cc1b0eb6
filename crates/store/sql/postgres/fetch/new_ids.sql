SELECT malla_id($1) FROM generate_series(1, $2::bigint)
