SELECT s.id, s.name, s.endpoint, p.name, s.grp, s.state, s.spec, s.created_at, s.lane
FROM subscription s JOIN endpoint p ON p.id = s.endpoint
