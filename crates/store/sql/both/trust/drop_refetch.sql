DELETE FROM refetch WHERE id = $1
