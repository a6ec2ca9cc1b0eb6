-- a range of the primary key of answer
DELETE FROM answer WHERE job = $1 AND n <= $2
