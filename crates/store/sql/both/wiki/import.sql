SELECT i.id, i.wiki, w.grp, i.name, i.batches, i.pages, i.revisions, i.finished, i.begun_at, i.changed_at
FROM wiki_import i JOIN wiki w ON w.id = i.wiki
