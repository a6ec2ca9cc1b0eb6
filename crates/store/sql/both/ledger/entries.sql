SELECT COUNT(*), CAST(COALESCE(SUM(CASE WHEN account LIKE 'client:%' AND what IN ('pages', 'cached') THEN pages ELSE 0 END), 0) AS BIGINT),
       CAST(COALESCE(SUM(CASE WHEN what = 'pages' AND (account LIKE 'user:%' OR account LIKE 'escrow:%') THEN pages ELSE 0 END), 0) AS BIGINT) FROM ledger_entry
