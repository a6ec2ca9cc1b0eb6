SELECT refused, ids, fresh FROM commit_token WHERE token = $1
