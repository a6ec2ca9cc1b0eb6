SELECT s.bytes, p.body FROM shelf s LEFT JOIN page p ON p.id = s.page WHERE s.key = ?1
