SELECT 'lane ' || n.key || ': ' || n.running || ' running, ' || coalesce(l.n, 0) || ' leases'
FROM lane n LEFT JOIN (SELECT lane, count(*) AS n FROM lease GROUP BY lane) l ON l.lane = n.id
WHERE n.running <> coalesce(l.n, 0)
