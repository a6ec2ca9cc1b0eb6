-- A few rows a kind and group, whatever the number of tasks.
SELECT kind, grp, sum(open)::bigint, sum(paused)::bigint, sum(notified)::bigint, sum(succeeded)::bigint, sum(failed)::bigint,
       sum(discarded)::bigint
FROM tally GROUP BY 1, 2
