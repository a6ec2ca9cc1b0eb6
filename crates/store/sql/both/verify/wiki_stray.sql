-- Nothing is left of a revision that is not there, and no name without one.
SELECT 'a note is left of revision ' || n.revid || ' of wiki number ' || n.wiki
FROM wiki_note n LEFT JOIN wiki_revision r ON r.wiki = n.wiki AND r.revid = n.revid WHERE r.revid IS NULL
UNION ALL
SELECT 'the tag ' || t.tag || ' is left of revision ' || t.revid || ' of wiki number ' || t.wiki
FROM wiki_tag t LEFT JOIN wiki_revision r ON r.wiki = t.wiki AND r.revid = t.revid WHERE r.revid IS NULL
UNION ALL
SELECT 'user number ' || u.id || ' has no revision'
FROM wiki_user u LEFT JOIN (SELECT DISTINCT editor FROM wiki_revision) r ON r.editor = u.id WHERE r.editor IS NULL
