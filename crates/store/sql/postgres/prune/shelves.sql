-- Shelves on which nothing is left.
DELETE FROM event_shelf s
WHERE EXISTS (
    SELECT 1 FROM event_shelf n
    WHERE n.id = s.id + 1 AND n.first_event <= (SELECT coalesce(min(event), 9223372036854775807) FROM event_words)
)
