DELETE FROM analysis_waiting WHERE ctid = ANY (ARRAY(SELECT ctid FROM analysis_waiting WHERE analysis = $1 LIMIT $2))
