-- An editor of a wiki has as many revisions as is said, and nobody is said to have none.
SELECT 'editor number ' || e.editor || ' of wiki number ' || e.wiki || ' is said to have ' || e.edits || ' revisions, but has ' || coalesce(r.n, 0)
FROM wiki_editor e
LEFT JOIN (SELECT wiki, editor, count(*) AS n FROM wiki_revision GROUP BY 1, 2) r ON r.wiki = e.wiki AND r.editor = e.editor
WHERE e.edits <> coalesce(r.n, 0) OR e.edits = 0
