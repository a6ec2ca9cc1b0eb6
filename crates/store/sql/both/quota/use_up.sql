INSERT INTO quota_use (day, client, pages, bytes) VALUES ($1, $2, $3, $4)
ON CONFLICT (day, client) DO UPDATE SET pages = quota_use.pages + excluded.pages, bytes = quota_use.bytes + excluded.bytes
