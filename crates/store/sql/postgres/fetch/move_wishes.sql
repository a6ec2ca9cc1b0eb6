UPDATE wish SET task = n.next FROM unnest($1::bigint[], $2::bigint[]) AS n (task, next)
WHERE wish.task = ANY ($1::bigint[]) AND wish.task = n.task
