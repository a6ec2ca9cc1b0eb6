DELETE FROM analysis_part WHERE ctid = ANY (ARRAY(SELECT ctid FROM analysis_part WHERE analysis = $1 LIMIT $2))
