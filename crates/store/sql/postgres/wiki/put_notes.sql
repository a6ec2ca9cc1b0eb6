INSERT INTO wiki_note (wiki, revid, sha1, model, format, comment, parsed_comment, tags, text)
SELECT n.wiki, n.revid, n.sha1, n.model, n.format, n.comment, n.parsed_comment, n.tags, n.text
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bytea[])
     AS n (wiki, revid, sha1, model, format, comment, parsed_comment, tags, text)
ON CONFLICT (wiki, revid) DO UPDATE
SET sha1 = excluded.sha1, model = excluded.model, format = excluded.format, comment = excluded.comment,
    parsed_comment = excluded.parsed_comment, tags = excluded.tags, text = excluded.text
