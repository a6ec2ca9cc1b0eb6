-- What keeps a group from being deleted; each by an index on its group.
SELECT CASE
    WHEN EXISTS (SELECT 1 FROM token WHERE grp = $1) THEN 'tokens'
    WHEN EXISTS (SELECT 1 FROM subscription WHERE grp = $1) THEN 'subscriptions'
    WHEN EXISTS (SELECT 1 FROM endpoint WHERE grp = $1) THEN 'endpoints'
    WHEN EXISTS (SELECT 1 FROM alert WHERE grp = $1) THEN 'alerts'
    WHEN EXISTS (SELECT 1 FROM device WHERE grp = $1) THEN 'devices'
    WHEN EXISTS (SELECT 1 FROM job WHERE grp = $1) THEN 'fetch jobs'
    WHEN EXISTS (SELECT 1 FROM analysis WHERE grp = $1 AND NOT forgotten) THEN 'analyses'
    WHEN EXISTS (SELECT 1 FROM wiki WHERE coalesce(grp, 0) = $1) THEN 'wikis'
    WHEN EXISTS (SELECT 1 FROM wiki_extraction WHERE grp = $1) THEN 'extractions'
    WHEN EXISTS (SELECT 1 FROM task WHERE grp = $1) THEN 'tasks'
    WHEN EXISTS (SELECT 1 FROM lane WHERE grp = $1) THEN 'lanes'
END
