UPDATE event_index SET mark = ?1 WHERE mark = ?2
