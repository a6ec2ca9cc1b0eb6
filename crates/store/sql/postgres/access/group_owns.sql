-- What keeps a group from being deleted; each by an index on its group.
SELECT CASE
    WHEN EXISTS (SELECT 1 FROM token WHERE grp = $1) THEN 'tokens'
    WHEN EXISTS (SELECT 1 FROM task WHERE grp = $1) THEN 'tasks'
    WHEN EXISTS (SELECT 1 FROM lane WHERE grp = $1) THEN 'lanes'
END
