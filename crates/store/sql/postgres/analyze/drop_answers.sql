DELETE FROM analysis_answer WHERE ctid = ANY (ARRAY(SELECT ctid FROM analysis_answer WHERE analysis = $1 LIMIT $2))
