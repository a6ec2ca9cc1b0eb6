SELECT task, nonce, lane_key, kind, grp, prio, failures, retry, payload FROM malla_lease($1, $2, $3, $4, $5, $6, $7, $8, $9)
