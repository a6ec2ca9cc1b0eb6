-- by primary key
SELECT sum(open + paused + notified) FROM lane_tally WHERE lane = ?1
