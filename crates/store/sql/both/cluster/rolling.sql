SELECT r.id, r.begun_by, r.begun_at, r.ended_at, r.note FROM cluster_rolling r ORDER BY r.id DESC LIMIT 1
