-- all of pin, which is small
SELECT DISTINCT place FROM pin LIMIT 1000
