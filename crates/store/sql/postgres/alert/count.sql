SELECT count(*) FROM alert
