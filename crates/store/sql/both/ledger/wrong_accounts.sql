SELECT a.name FROM ledger_account a
WHERE a.balance <> a.carried + (SELECT COALESCE(SUM(e.amount), 0) FROM ledger_entry e WHERE e.account = a.name) LIMIT 100
