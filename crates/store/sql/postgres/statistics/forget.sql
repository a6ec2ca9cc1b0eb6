-- By figure_begin.
DELETE FROM figure WHERE ctid = ANY (ARRAY(SELECT ctid FROM figure WHERE step = $1 AND begin_at < $2 ORDER BY begin_at LIMIT $3))
