INSERT INTO event_shelf (id, first_event) VALUES ($1, $2)
