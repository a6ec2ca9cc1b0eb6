-- by wiki_tag_revision, a seek each
DELETE FROM wiki_tag WHERE ctid = ANY (ARRAY(
    SELECT t.place FROM unnest($1::bigint[], $2::bigint[]) AS n (wiki, revid)
    CROSS JOIN LATERAL (SELECT k.ctid AS place FROM wiki_tag k WHERE k.wiki = n.wiki AND k.revid = n.revid OFFSET 0) t
))
