INSERT INTO ledger_entry (id, transfer, at, account, amount, pages, what, note) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
