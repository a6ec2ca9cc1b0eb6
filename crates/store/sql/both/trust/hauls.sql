SELECT pages FROM haul WHERE device = $1 ORDER BY id DESC LIMIT $2
