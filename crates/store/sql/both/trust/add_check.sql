INSERT INTO trust_check (id, kind, state, first, second, at, ended_at, held, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
