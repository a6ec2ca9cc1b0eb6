UPDATE tour_url SET waiting = 0, url = '' WHERE tour = ?1 AND key = ?2
