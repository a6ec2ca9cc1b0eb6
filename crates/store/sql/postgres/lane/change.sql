UPDATE lane SET
    paused = $2, ceiling = $3, gap_ms = $4, next_start_at = $5, settled = true, used_at = $6,
    least_gap_ms = coalesce($7, least_gap_ms),
    ready_at = CASE WHEN NOT $2 AND running < $3 AND malla_earliest(id, prios) IS NOT NULL
        THEN greatest(malla_earliest(id, prios), $5, $6) END
WHERE id = $1
