INSERT INTO event (id, endpoint, grp, method, query, content_type, topic, headers, packed, bytes, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
