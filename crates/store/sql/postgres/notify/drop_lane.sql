WITH counters AS (DELETE FROM lane_tally WHERE lane = $1)
DELETE FROM lane WHERE id = $1
