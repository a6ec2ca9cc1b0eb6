SELECT name, balance FROM ledger_account WHERE name LIKE 'escrow:%' AND balance > 0 AND touched_at < $1 LIMIT 100
