UPDATE tour_site SET under_way = max(under_way - ?3, 0) WHERE tour = ?1 AND site = ?2
