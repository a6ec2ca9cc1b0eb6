SELECT pages, bytes FROM quota_use WHERE day = $1 AND client = $2
