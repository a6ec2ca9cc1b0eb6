SELECT month, edits, minor, anonymous FROM wiki_month WHERE wiki = ?1 ORDER BY month
