SELECT 'lane ' || n.key || ' runs ' || n.running || ' but is ' || CASE WHEN n.paused THEN 'paused' ELSE 'full' END || ' and stands in line'
FROM lane n
WHERE n.ready_at IS NOT NULL AND (n.paused OR n.running >= n.ceiling)
