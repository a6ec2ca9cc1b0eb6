SELECT fingerprint, answer FROM once WHERE scope = $1 AND key = $2
