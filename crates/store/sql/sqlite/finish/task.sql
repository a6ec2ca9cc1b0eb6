-- Every change of a task row but its submission. The history is kept within its bound by dropping its older half.
UPDATE task SET
    state = ?2, failures = ?3, lapses = ?4, run_at = ?5, finished_at = ?6, ended_by = coalesce(?7, ended_by), result = ?8,
    history = CASE WHEN length(history) > ?10 THEN substr(history, -?10 / 2) ELSE history END || ?9
WHERE id = ?1
