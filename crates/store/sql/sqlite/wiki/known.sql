-- a seek each, by wiki_revision_number
SELECT r.revid, p.pageid, r.at, r.size, r.editor IS NULL, n.comment IS NULL, n.sha1, n.text, r.flags
FROM json_each(?2) j
CROSS JOIN wiki_revision r ON r.wiki = ?1 AND r.revid = j.value
CROSS JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid
CROSS JOIN wiki_page p ON p.id = r.page
