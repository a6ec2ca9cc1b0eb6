//! Takes a batch of a dump in. A dump is older than what the wiki itself said, and tells less: it adds what is not kept,
//! hides what it hides, and leaves the rest as it is.

use std::collections::HashMap;
use std::sync::Arc;

use malla_queue::{Act, Error, Result, Scope};

use super::batch::{Batch, PagePart};
use crate::page::{Mark, Page, PageFacts, PageId};
use crate::revision::{Known, RevId, Revision};
use crate::shelving::{self, Fetched, Shelved};
use crate::site::WikiId;
use crate::verbs::{Committed, Import, Imported, NewImport, PageChange, Wikis};

/// How often a batch is prepared anew because one of its pages changed meanwhile.
const TRIES_MAX: usize = 20;
/// Revisions looked up at once.
const LOOK_UP: usize = 500;

/// Takes in the batch of this number. One that was taken in before is left alone; one too high is refused with
/// [`Error::Conflict`]. A batch that is cut off counts as one of an import of its own, because the whole dump has more
/// in the batch of that number.
pub async fn take(wikis: &dyn Wikis, import: &Import, number: u64, bytes: &[u8], last: bool) -> Result<()> {
    if number < import.batches {
        return Ok(());
    }
    let batch = Batch::decode(bytes)?;
    let (import, number, last) = if batch.cut {
        let name = format!("{}, as far as it goes", import.name);
        let act = Act::new("malla", "wiki.import", name.clone());
        let of_its_own = wikis.begin_import(&Scope::All, NewImport { wiki: import.wiki, name }, act).await?;
        let next = of_its_own.batches;
        (of_its_own, next, false)
    } else {
        (import.clone(), number, last)
    };
    let pages = by_page(batch);
    for _ in 0..TRIES_MAX {
        let mut changes = Vec::with_capacity(pages.len());
        for part in &pages {
            changes.extend(prepare(wikis, import.wiki, part).await?);
        }
        match wikis.take_batch(Imported { import: import.id, batch: number, changes, last }).await? {
            Committed::Done => return Ok(()),
            Committed::Stale => {}
        }
    }
    Err(Error::NotAvailable("the pages of this batch keep changing: send it again later".into()))
}

/// One part for each page, even if the dump comes back to it.
fn by_page(batch: Batch) -> Vec<PagePart> {
    let mut places: HashMap<PageId, usize> = HashMap::new();
    let mut parts: Vec<PagePart> = Vec::new();
    for part in batch.pages {
        match places.get(&part.page.pageid) {
            Some(place) => {
                let first = &mut parts[*place];
                first.revisions.extend(part.revisions);
                first.linked = false;
            }
            None => {
                places.insert(part.page.pageid, parts.len());
                parts.push(part);
            }
        }
    }
    parts
}

/// What becomes of a page; `None` if nothing.
async fn prepare(wikis: &dyn Wikis, wiki: WikiId, part: &PagePart) -> Result<Option<PageChange>> {
    let pageid = part.page.pageid;
    let fetched = wanted(wikis, wiki, part).await?;
    if fetched.is_empty() {
        let page = wikis.page(wiki, pageid).await?;
        if page.is_some() && reached(part, page.as_ref()) == (None, false) {
            return Ok(None);
        }
    }
    let dumped = PageFacts { title: part.page.title.clone(), ns: part.page.ns, deleted: false };
    let Shelved { change, page, .. } = shelving::shelve(wikis, wiki, pageid, dumped, Arc::new(fetched)).await?;
    let (mark, complete) = reached(part, page.as_ref());
    // What the wiki said of a page after the dump was made counts more.
    let facts = match page {
        Some(page) if page.visited_at.is_some() => page.facts,
        _ => change.facts,
    };
    Ok(Some(PageChange { facts, mark, complete, ..change }))
}

/// Up to where the history is whole from now on, and whether that is all of it as far as is known.
fn reached(part: &PagePart, page: Option<&Page>) -> (Option<Mark>, bool) {
    let last = part.revisions.last().map(|fetched| fetched.revision.mark()).filter(|_| part.linked);
    let mark = last.filter(|last| page.and_then(|page| page.mark).is_none_or(|kept| kept < *last));
    (mark, mark.is_some() && part.ends)
}

/// The revisions that are written: those that are not kept, and those that are with something else about them.
async fn wanted(wikis: &dyn Wikis, wiki: WikiId, part: &PagePart) -> Result<Vec<Fetched>> {
    let mut wanted = Vec::new();
    for some in part.revisions.chunks(LOOK_UP) {
        let revids: Vec<RevId> = some.iter().map(|fetched| fetched.revision.revid).collect();
        let known: HashMap<RevId, Known> =
            wikis.known(wiki, &revids).await?.into_iter().map(|known| (known.revid, known)).collect();
        for fetched in some {
            match known.get(&fetched.revision.revid) {
                None => wanted.push(fetched.clone()),
                Some(known) if adds(known, fetched) => {
                    let Some(kept) = wikis.revision(wiki, known.revid).await? else { continue };
                    wanted.push(merged(kept, fetched));
                }
                Some(_) => {}
            }
        }
    }
    Ok(wanted)
}

/// Whether the dump has a text that is missing, or hides what is kept. A revision that has moved to another page stays there.
fn adds(known: &Known, fetched: &Fetched) -> bool {
    let dumped = &fetched.revision;
    let text = known.text.is_none() && !known.text_hidden && fetched.text.is_some();
    let hides = (dumped.text_hidden && !known.text_hidden)
        || (dumped.user.is_none() && !known.user_hidden)
        || (dumped.comment.is_none() && !known.comment_hidden);
    known.pageid == dumped.pageid && (text || hides)
}

fn merged(kept: Revision, fetched: &Fetched) -> Fetched {
    let dumped = &fetched.revision;
    let text_hidden = kept.text_hidden || dumped.text_hidden;
    let user = kept.user.filter(|_| dumped.user.is_some());
    let comment = kept.comment.filter(|_| dumped.comment.is_some());
    let revision = Revision {
        userid: kept.userid.filter(|_| user.is_some()),
        parsed_comment: kept.parsed_comment.filter(|_| comment.is_some()),
        sha1: kept.sha1.filter(|_| !text_hidden),
        text: kept.text.filter(|_| !text_hidden),
        text_hidden,
        user,
        comment,
        ..kept
    };
    Fetched { text: fetched.text.clone().filter(|_| !text_hidden && revision.text.is_none()), revision }
}
