-- By figure_begin.
DELETE FROM figure WHERE (step, subject_kind, subject, begin_at, process) IN (
    SELECT step, subject_kind, subject, begin_at, process FROM figure WHERE step = ?1 AND begin_at < ?2 ORDER BY begin_at LIMIT ?3
)
