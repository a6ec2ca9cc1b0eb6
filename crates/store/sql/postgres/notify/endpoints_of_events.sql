SELECT e.id, p.name FROM event e JOIN endpoint p ON p.id = coalesce(e.endpoint, 1) WHERE e.id = ANY ($1::bigint[])
