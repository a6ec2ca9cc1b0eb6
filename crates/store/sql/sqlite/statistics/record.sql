INSERT INTO figure (step, subject_kind, subject, begin_at, process, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (step, subject_kind, subject, begin_at, process) DO UPDATE SET body = excluded.body
