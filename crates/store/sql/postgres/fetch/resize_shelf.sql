UPDATE shelf_size SET entries = entries + $1, bytes = bytes + $2 WHERE shard = (pg_backend_pid() & 15)::smallint
