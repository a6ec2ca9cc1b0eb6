SELECT pages, revisions, editors FROM wiki WHERE id = $1
