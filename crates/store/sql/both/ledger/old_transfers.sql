-- transfers are numbered by time
SELECT DISTINCT transfer FROM ledger_entry WHERE id < $1 AND at < $2 ORDER BY transfer LIMIT $3
