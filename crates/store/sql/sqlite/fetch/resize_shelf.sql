UPDATE shelf_size SET entries = entries + ?1, bytes = bytes + ?2
