-- The lease table is as small as what runs: read whole.
SELECT id FROM lane WHERE id = ANY (ARRAY(SELECT lane FROM lease WHERE holder = $1)) ORDER BY id FOR NO KEY UPDATE
