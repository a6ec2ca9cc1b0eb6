-- One node at a time; the others have nothing to do then.
SELECT mark, shelf, filled FROM event_index FOR UPDATE SKIP LOCKED
