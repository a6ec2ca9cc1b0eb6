DELETE FROM analysis_dimension WHERE ctid = ANY (ARRAY(SELECT ctid FROM analysis_dimension WHERE analysis = $1 LIMIT $2))
