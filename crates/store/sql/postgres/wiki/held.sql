-- Who holds the task, and whose word ended it last.
SELECT (SELECT nonce FROM lease WHERE task = $1), (SELECT ended_by FROM task WHERE id = $1)
