-- Open tasks in paused lanes: through lane_paused, so it costs as much as lanes are paused.
SELECT t.kind, t.grp, sum(t.open)::bigint FROM lane n JOIN lane_tally t ON t.lane = n.id WHERE n.paused GROUP BY 1, 2
