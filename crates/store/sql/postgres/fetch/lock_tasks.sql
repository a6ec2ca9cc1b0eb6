-- The lanes of these tasks, as far as they are there.
SELECT id FROM lane WHERE id = ANY (ARRAY(SELECT lane FROM task WHERE id = ANY ($1::bigint[]))) ORDER BY id FOR NO KEY UPDATE
