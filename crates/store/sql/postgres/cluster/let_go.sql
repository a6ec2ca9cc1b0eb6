-- What a member had in hand is overdue soon when it is gone, and the leader sends it back. It reads all leases, of which there are
-- as many as workers have tasks in hand.
UPDATE lease SET expires_at = $2 WHERE task IN (
    SELECT task FROM lease
    WHERE holder = $3 || (SELECT name FROM cluster_member WHERE id = $1) AND expires_at > $2
    FOR UPDATE SKIP LOCKED
)
