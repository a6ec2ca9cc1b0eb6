-- One row a kind and group, whatever the number of tasks.
SELECT kind, grp, open, paused, notified, succeeded, failed, discarded FROM tally
