SELECT sum(entries)::bigint, sum(bytes)::bigint FROM shelf_size
