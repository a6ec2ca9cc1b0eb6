-- the front of event_own
SELECT id, kind, grp, packed, body FROM event WHERE endpoint IS NULL ORDER BY id LIMIT ?1
