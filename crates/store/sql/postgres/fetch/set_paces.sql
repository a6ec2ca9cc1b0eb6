-- Writes the lanes with their new place in the line.
UPDATE lane SET
    gap_ms = n.gap_ms, next_start_at = n.next_start_at, used_at = $4,
    ready_at = CASE WHEN NOT lane.paused AND lane.running < lane.ceiling AND malla_earliest(lane.id, lane.prios) IS NOT NULL
        THEN greatest(malla_earliest(lane.id, lane.prios), n.next_start_at, $4) END
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (id, gap_ms, next_start_at)
WHERE lane.id = ANY ($1::bigint[]) AND lane.id = n.id
