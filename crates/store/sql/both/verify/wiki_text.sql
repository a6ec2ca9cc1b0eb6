-- The text of a revision has a place in its page, and a place is in a block.
SELECT 'the text of revision ' || r.revid || ' of wiki number ' || r.wiki || ' is nowhere'
FROM wiki_revision r
JOIN wiki_note n ON n.wiki = r.wiki AND n.revid = r.revid
LEFT JOIN wiki_text t ON t.page = r.page AND t.hash = n.text
WHERE n.text IS NOT NULL AND t.page IS NULL
UNION ALL
SELECT 'a text of page number ' || t.page || ' lies outside of block ' || t.block
FROM wiki_text t LEFT JOIN wiki_block b ON b.page = t.page AND b.number = t.block
WHERE b.page IS NULL OR t.start + t.length > b.bytes
