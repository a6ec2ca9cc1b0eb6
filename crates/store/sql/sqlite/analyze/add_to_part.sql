INSERT INTO analysis_part (analysis, part, sealed, dimension_bytes) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (analysis, part) DO UPDATE SET sealed = max(sealed, excluded.sealed), dimension_bytes = dimension_bytes + excluded.dimension_bytes
