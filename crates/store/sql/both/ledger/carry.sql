UPDATE ledger_account SET carried = carried + $1 WHERE name = $2
