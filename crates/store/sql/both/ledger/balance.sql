SELECT balance, touched_at FROM ledger_account WHERE name = $1
