INSERT INTO tally (kind, grp, open, paused, notified, succeeded, failed, discarded)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (kind, grp) DO UPDATE SET
    open = open + excluded.open, paused = paused + excluded.paused, notified = notified + excluded.notified,
    succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed, discarded = discarded + excluded.discarded
