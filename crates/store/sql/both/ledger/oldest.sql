SELECT transfer, account, amount FROM ledger_entry WHERE transfer = $1
