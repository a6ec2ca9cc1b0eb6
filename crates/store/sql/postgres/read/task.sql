SELECT retry, dedup, payload, result, history FROM task WHERE id = $1
