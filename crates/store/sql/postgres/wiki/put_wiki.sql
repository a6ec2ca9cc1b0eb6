INSERT INTO wiki (grp, api, origin, locale, name, about, scraped, found_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (coalesce(grp, 0), api) DO UPDATE
SET locale = excluded.locale, name = excluded.name, about = excluded.about, scraped = excluded.scraped
RETURNING id
