DELETE FROM wiki_editor WHERE wiki = ?1 AND editor = ?2
