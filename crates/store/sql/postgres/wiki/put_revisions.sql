-- Tells how many were new: a row that was not updated has no xmax.
WITH put AS (
    INSERT INTO wiki_revision (wiki, revid, page, at, parentid, editor, userid, size, flags, extracted_at)
    SELECT n.wiki, n.revid, n.page, n.at, n.parentid, n.editor, n.userid, n.size, n.flags, $10
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
                $9::smallint[]) AS n (wiki, revid, page, at, parentid, editor, userid, size, flags)
    ON CONFLICT (wiki, revid) DO UPDATE
    SET page = excluded.page, at = excluded.at, parentid = excluded.parentid, editor = excluded.editor, userid = excluded.userid,
        size = excluded.size, flags = excluded.flags
    RETURNING xmax = 0 AS new
)
SELECT count(*) FILTER (WHERE new) FROM put
