-- What a notification needs to know of its subscription.
SELECT lane, grp, retry FROM subscription WHERE id = ?1
