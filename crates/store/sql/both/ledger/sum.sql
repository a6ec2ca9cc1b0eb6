SELECT CAST(COALESCE(SUM(balance), 0) AS BIGINT), COUNT(*) FROM ledger_account
