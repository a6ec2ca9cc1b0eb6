-- by wiki_revision_user
DELETE FROM wiki_user WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM wiki_revision WHERE editor = ?1)
