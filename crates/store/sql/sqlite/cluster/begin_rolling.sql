INSERT INTO cluster_rolling (begun_by, begun_at) VALUES (?1, ?2) RETURNING id
