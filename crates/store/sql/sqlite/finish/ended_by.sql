SELECT ended_by FROM task WHERE id = ?1
