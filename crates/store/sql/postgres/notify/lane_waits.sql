-- by primary key
SELECT coalesce(sum(open + paused + notified), 0)::bigint FROM lane_tally WHERE lane = $1
