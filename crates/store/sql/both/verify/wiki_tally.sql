-- A history is counted up to a revision that it has.
SELECT 'the history of page number ' || t.page || ' is counted up to revision ' || t.revid || ', which is not there'
FROM wiki_tally t LEFT JOIN wiki_revision r ON r.page = t.page AND r.at = t.at AND r.revid = t.revid WHERE r.revid IS NULL
