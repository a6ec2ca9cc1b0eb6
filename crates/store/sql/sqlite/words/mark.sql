SELECT mark FROM event_index
