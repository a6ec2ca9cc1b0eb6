SELECT subject, state FROM repute
