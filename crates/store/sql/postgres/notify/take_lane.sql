-- 2 is the bit of normal priority, which all notifications have
UPDATE lane SET grp = $2, prios = prios | 2 WHERE id = $1
