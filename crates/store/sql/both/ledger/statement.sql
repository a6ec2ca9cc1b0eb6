-- a range of ledger_entry_account
SELECT id, transfer, at, account, amount, pages, what, note FROM ledger_entry WHERE account = $1 AND id < $2 ORDER BY id DESC LIMIT $3
