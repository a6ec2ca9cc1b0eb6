DELETE FROM ledger_entry WHERE transfer = $1
