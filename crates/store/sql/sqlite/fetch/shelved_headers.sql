SELECT p.headers FROM shelf s JOIN page p ON p.id = s.page WHERE s.key = ?1 AND s.page = ?2
