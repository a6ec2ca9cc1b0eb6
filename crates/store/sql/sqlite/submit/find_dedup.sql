-- by primary key
SELECT task FROM dedup WHERE room = ?1 AND key = ?2
