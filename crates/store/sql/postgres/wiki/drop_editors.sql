DELETE FROM wiki_editor
WHERE edits = 0 AND (wiki, editor) IN (SELECT n.wiki, n.editor FROM unnest($1::bigint[], $2::bigint[]) AS n (wiki, editor))
