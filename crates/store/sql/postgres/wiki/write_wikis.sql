-- $5: today; the visits of another day are no longer counted
UPDATE wiki SET pages = wiki.pages + n.pages, revisions = wiki.revisions + n.revisions,
       visits = CASE WHEN n.visits = 0 OR wiki.visits_day = $5 THEN wiki.visits ELSE 0 END + n.visits,
       visits_day = CASE WHEN n.visits = 0 THEN wiki.visits_day ELSE $5 END
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS n (id, pages, revisions, visits)
WHERE wiki.id = ANY ($1) AND wiki.id = n.id
