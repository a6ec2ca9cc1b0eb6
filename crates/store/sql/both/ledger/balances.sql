SELECT name, balance, touched_at FROM ledger_account ORDER BY name LIMIT 100000
