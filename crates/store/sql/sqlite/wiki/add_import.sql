INSERT INTO wiki_import (id, wiki, name, begun_at, changed_at) VALUES (?1, ?2, ?3, ?4, ?4)
