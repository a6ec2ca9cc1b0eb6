SELECT malla_forget_tasks($1)
