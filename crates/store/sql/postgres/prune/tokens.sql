-- By the small index on their time. Nobody asks for a commit after that long.
DELETE FROM commit_token
WHERE ctid = ANY (ARRAY(SELECT ctid FROM commit_token WHERE at < now() - interval '1 hour' LIMIT $1))
