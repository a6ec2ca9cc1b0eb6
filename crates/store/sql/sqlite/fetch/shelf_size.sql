SELECT entries, bytes FROM shelf_size
