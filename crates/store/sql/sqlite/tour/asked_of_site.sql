UPDATE tour_site SET waiting = waiting - ?3, under_way = under_way + ?3, turn = ?4 WHERE tour = ?1 AND site = ?2
