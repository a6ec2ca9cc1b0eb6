DELETE FROM quota_use WHERE day < $1
