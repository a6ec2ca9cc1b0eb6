-- Nothing if there are as many as may be.
INSERT INTO cluster_member (name, machine, address, roles, version, medic, supervises, load, joined_at, seen_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9
WHERE (SELECT count(*) FROM cluster_member) < ?10
RETURNING id
