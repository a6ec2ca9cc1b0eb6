INSERT INTO page (id, key, url, status, headers, body, bytes, trouble, note, fetched_at, took_ms, device, kept_until)
SELECT n.*, $13::bigint
FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::integer[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
            $10::bigint[], $11::bigint[], $12::text[]) AS n
