DELETE FROM lane_tally WHERE lane = ?1
