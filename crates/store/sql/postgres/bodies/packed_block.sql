SELECT packed FROM wiki_block WHERE page = $1 AND number = $2 AND object IS NULL
