-- Those that are where they were are left alone. Each is looked for by its hash alone: by its block would read the whole block.
INSERT INTO wiki_text (page, hash, block, start, length)
SELECT n.page, n.hash, n.block, n.start, n.length
FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[]) AS n (page, hash, block, start, length)
LEFT JOIN LATERAL (
    SELECT k.block, k.start, k.length FROM wiki_text k WHERE k.page = n.page AND k.hash = n.hash OFFSET 0
) t ON true
WHERE (t.block, t.start, t.length) IS DISTINCT FROM (n.block, n.start, n.length)
ON CONFLICT (page, hash) DO UPDATE SET block = excluded.block, start = excluded.start, length = excluded.length
