SELECT s.hash, s.csrf, s.expires_at, s.usr FROM session s JOIN usr u ON u.id = s.usr
WHERE s.hash = $1 AND s.expires_at > $2 AND NOT u.disabled
