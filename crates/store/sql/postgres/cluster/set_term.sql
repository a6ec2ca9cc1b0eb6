-- Waits for all who write under the old term.
UPDATE cluster_term SET term = $1 WHERE id = 1
