SELECT state FROM repute WHERE subject = $1
