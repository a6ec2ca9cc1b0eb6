-- What was in these blocks and is in none of the new ones.
DELETE FROM wiki_text WHERE ctid = ANY (ARRAY(
    SELECT t.place FROM unnest($1::bigint[], $2::bigint[]) AS b (page, number)
    CROSS JOIN LATERAL (
        SELECT k.ctid AS place, k.hash FROM wiki_text k WHERE k.page = b.page AND k.block = b.number OFFSET 0
    ) t
    WHERE (b.page, t.hash) NOT IN (SELECT n.page, n.hash FROM unnest($3::bigint[], $4::bytea[]) AS n (page, hash))
))
