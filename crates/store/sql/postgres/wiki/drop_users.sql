-- by wiki_revision_user, a seek each
DELETE FROM wiki_user WHERE id = ANY ($1::bigint[])
  AND (SELECT r.editor FROM wiki_revision r WHERE r.editor = wiki_user.id LIMIT 1) IS NULL
