UPDATE once SET answer = $3 WHERE scope = $1 AND key = $2
