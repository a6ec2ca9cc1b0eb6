DELETE FROM analysis_partial WHERE ctid = ANY (ARRAY(SELECT ctid FROM analysis_partial WHERE analysis = $1 LIMIT $2))
