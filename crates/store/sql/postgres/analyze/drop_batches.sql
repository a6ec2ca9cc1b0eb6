DELETE FROM analysis_batch WHERE ctid = ANY (ARRAY(SELECT ctid FROM analysis_batch WHERE analysis = $1 LIMIT $2))
