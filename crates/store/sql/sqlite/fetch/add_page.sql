INSERT INTO page (id, key, url, status, headers, body, bytes, trouble, note, fetched_at, took_ms, device, kept_until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
