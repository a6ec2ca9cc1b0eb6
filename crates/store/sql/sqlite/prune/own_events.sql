-- Malla's own that never got notifications: the front of event_own.
SELECT id FROM event WHERE endpoint IS NULL AND id < ?1 ORDER BY id LIMIT ?2
