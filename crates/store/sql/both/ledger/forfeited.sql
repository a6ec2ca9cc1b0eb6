SELECT amount FROM ledger_entry WHERE account = $1 AND what IN ('forfeit', 'restore') ORDER BY id DESC LIMIT 100
