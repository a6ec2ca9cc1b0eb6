INSERT INTO ledger_account (name, balance, carried, touched_at) VALUES ($1, $2, 0, $3)
ON CONFLICT (name) DO UPDATE SET balance = ledger_account.balance + excluded.balance, touched_at = excluded.touched_at
