-- $6: today; the visits of another day are no longer counted
UPDATE wiki SET pages = wiki.pages + n.pages, revisions = wiki.revisions + n.revisions, editors = wiki.editors + n.editors,
       visits = CASE WHEN n.visits = 0 OR wiki.visits_day = $6 THEN wiki.visits ELSE 0 END + n.visits,
       visits_day = CASE WHEN n.visits = 0 THEN wiki.visits_day ELSE $6 END
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS n (id, pages, revisions, editors, visits)
WHERE wiki.id = ANY ($1) AND wiki.id = n.id
