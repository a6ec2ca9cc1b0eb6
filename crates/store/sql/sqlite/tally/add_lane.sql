INSERT INTO lane_tally (lane, kind, grp, open, paused, notified, succeeded, failed, discarded)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (lane, kind, grp) DO UPDATE SET
    open = open + excluded.open, paused = paused + excluded.paused, notified = notified + excluded.notified,
    succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed, discarded = discarded + excluded.discarded
