SELECT w.id, w.grp, w.api, w.locale, w.name, w.about, w.scraped, w.found_at, w.pages, w.revisions, w.visits_day, w.visits
FROM wiki w
