SELECT transfer FROM ledger_entry GROUP BY transfer HAVING SUM(amount) <> 0 LIMIT 100
