//! Makes what came of a page ready to be kept: texts packed and each kept once, what is hidden now erased.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use malla_queue::{Error, Result};

use crate::page::{Page, PageFacts, PageId};
use crate::revision::{Known, RevId, Revision};
use crate::site::WikiId;
use crate::texts::{self, Block, Packer, TextHash};
use crate::verbs::{PageChange, Wikis};

/// Numbers and hashes that the store is asked for at once.
const ASK_MAX: usize = 500;

/// A revision with its text, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub revision: Revision,
    pub text: Option<Vec<u8>>,
}

/// What a change brings that was not kept before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fresh {
    /// By their numbers, with how many bytes more than its parent each has, where the parent is known.
    pub revisions: Vec<(RevId, Option<i64>)>,
    /// Texts, names and comments that are erased because the wiki hides them now.
    pub erased: u64,
}

/// A change with the copy of the page that it was made from.
pub(crate) struct Shelved {
    pub(crate) change: PageChange,
    pub(crate) fresh: Fresh,
    pub(crate) page: Option<Page>,
}

/// Prepares a change from the page as it is kept now. The caller says what it means for the mark.
pub async fn prepare(
    wikis: &dyn Wikis,
    wiki: WikiId,
    pageid: PageId,
    facts: PageFacts,
    fetched: Vec<Fetched>,
) -> Result<(PageChange, Fresh)> {
    let shelved = shelve(wikis, wiki, pageid, facts, Arc::new(fetched)).await?;
    Ok((shelved.change, shelved.fresh))
}

pub(crate) async fn shelve(
    wikis: &dyn Wikis,
    wiki: WikiId,
    pageid: PageId,
    facts: PageFacts,
    fetched: Arc<Vec<Fetched>>,
) -> Result<Shelved> {
    let page = wikis.page(wiki, pageid).await?;
    let known = known(wikis, wiki, &fetched).await?;
    let fresh = Fresh { revisions: news(&fetched, &known), erased: erased(&fetched, &known) };
    let revisions = named(&fetched, &known, pageid);
    let blocks = blocks(wikis, wiki, &page, pageid, &fetched, &known, &revisions).await?;
    let change = PageChange {
        wiki,
        pageid,
        version: page.as_ref().map_or(0, |page| page.version),
        facts,
        revisions,
        blocks,
        mark: None,
        complete: false,
        reconciled: false,
        visited: false,
    };
    Ok(Shelved { change, fresh, page })
}

/// What is kept of these revisions and of their parents.
async fn known(wikis: &dyn Wikis, wiki: WikiId, fetched: &[Fetched]) -> Result<HashMap<RevId, Known>> {
    let both = fetched.iter().flat_map(|one| [one.revision.revid, one.revision.parentid]);
    let mut wanted: Vec<RevId> = both.filter(|revid| revid.0 > 0).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut known = HashMap::with_capacity(wanted.len());
    for part in wanted.chunks(ASK_MAX) {
        known.extend(wikis.known(wiki, part).await?.into_iter().map(|one| (one.revid, one)));
    }
    Ok(known)
}

/// Those that were not kept, each once.
fn news(fetched: &[Fetched], known: &HashMap<RevId, Known>) -> Vec<(RevId, Option<i64>)> {
    let came: HashMap<RevId, u64> = fetched.iter().map(|one| (one.revision.revid, one.revision.size)).collect();
    let mut seen = HashSet::new();
    let size_before = |parent: RevId| match parent.0 {
        0 => Some(0),
        _ => came.get(&parent).copied().or_else(|| known.get(&parent).map(|one| one.size)),
    };
    let fresh = fetched.iter().map(|one| &one.revision);
    let fresh = fresh.filter(|revision| !known.contains_key(&revision.revid) && seen.insert(revision.revid));
    fresh.map(|one| (one.revid, size_before(one.parentid).map(|before| difference(one.size, before)))).collect()
}

fn difference(size: u64, before: u64) -> i64 {
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    signed(size).saturating_sub(signed(before))
}

fn erased(fetched: &[Fetched], known: &HashMap<RevId, Known>) -> u64 {
    let hidden = fetched.iter().filter_map(|one| Some((&one.revision, known.get(&one.revision.revid)?)));
    hidden
        .map(|(now, kept)| {
            u64::from(now.text_hidden && kept.text.is_some())
                + u64::from(now.user.is_none() && !kept.user_hidden)
                + u64::from(now.comment.is_none() && !kept.comment_hidden)
        })
        .sum()
}

/// The revisions with their texts' hashes. A text that did not come although it is not hidden stays what it was.
fn named(fetched: &[Fetched], known: &HashMap<RevId, Known>, pageid: PageId) -> Vec<Revision> {
    let mut revisions: BTreeMap<RevId, Revision> = BTreeMap::new();
    for Fetched { revision, text } in fetched {
        let kept = known.get(&revision.revid).filter(|kept| kept.pageid == pageid).and_then(|kept| kept.text);
        let text = match text {
            _ if revision.text_hidden => None,
            Some(text) => Some(TextHash::of(text)),
            None => kept,
        };
        revisions.insert(revision.revid, Revision { pageid, text, ..revision.clone() });
    }
    revisions.into_values().collect()
}

async fn blocks(
    wikis: &dyn Wikis,
    wiki: WikiId,
    page: &Option<Page>,
    pageid: PageId,
    fetched: &Arc<Vec<Fetched>>,
    known: &HashMap<RevId, Known>,
    revisions: &[Revision],
) -> Result<Vec<Block>> {
    let gone = gone(wikis, wiki, pageid, known, revisions).await?;
    let wanted: HashSet<TextHash> = revisions.iter().filter_map(|revision| revision.text).collect();
    let wanted: Vec<TextHash> = wanted.into_iter().collect();
    let kept: HashSet<TextHash> =
        places(wikis, wiki, pageid, &wanted).await?.into_iter().map(|(hash, _)| hash).collect();
    let mut without = erase(wikis, wiki, pageid, &gone).await?;
    let last = match page.as_ref().and_then(|page| page.last_block) {
        None => None,
        Some(number) => match without.get(&number) {
            Some(block) => Some(block.clone()),
            None => wikis.block(wiki, pageid, number).await?,
        },
    };
    let fetched = fetched.clone();
    let packed = blocking(move || {
        let mut packer = last.as_ref().map_or_else(|| Ok(Packer::new()), Packer::after)?;
        for Fetched { revision, text } in fetched.iter().filter(|one| !one.revision.text_hidden) {
            let Some(text) = text else { continue };
            if !kept.contains(&TextHash::of(text)) {
                packer.add(text).map_err(|error| Error::Invalid(format!("revision {}: {error}", revision.revid.0)))?;
            }
        }
        packer.finish()
    });
    for block in packed.await? {
        without.insert(block.number, block);
    }
    Ok(without.into_values().collect())
}

/// Texts of this page that no revision has after this change.
async fn gone(
    wikis: &dyn Wikis,
    wiki: WikiId,
    pageid: PageId,
    known: &HashMap<RevId, Known>,
    revisions: &[Revision],
) -> Result<Vec<TextHash>> {
    let mut left: HashMap<TextHash, u64> = HashMap::new();
    for revision in revisions {
        let kept = known.get(&revision.revid).filter(|kept| kept.pageid == pageid);
        if let Some(hash) = kept.and_then(|kept| kept.text).filter(|hash| revision.text != Some(*hash)) {
            *left.entry(hash).or_default() += 1;
        }
    }
    left.retain(|hash, _| !revisions.iter().any(|revision| revision.text == Some(*hash)));
    let hashes: Vec<TextHash> = left.keys().copied().collect();
    let mut gone = Vec::new();
    for part in hashes.chunks(ASK_MAX) {
        let uses = wikis.uses(wiki, pageid, part).await?;
        gone.extend(
            uses.into_iter()
                .filter(|(hash, uses)| left.get(hash).is_some_and(|left| left >= uses))
                .map(|(hash, _)| hash),
        );
    }
    Ok(gone)
}

async fn places(
    wikis: &dyn Wikis,
    wiki: WikiId,
    pageid: PageId,
    hashes: &[TextHash],
) -> Result<Vec<(TextHash, texts::TextPlace)>> {
    let mut places = Vec::new();
    for part in hashes.chunks(ASK_MAX) {
        places.extend(wikis.places(wiki, pageid, part).await?);
    }
    Ok(places)
}

/// The blocks of these texts without them, by their numbers.
async fn erase(wikis: &dyn Wikis, wiki: WikiId, pageid: PageId, gone: &[TextHash]) -> Result<BTreeMap<u32, Block>> {
    let numbers: HashSet<u32> =
        places(wikis, wiki, pageid, gone).await?.into_iter().map(|(_, place)| place.block).collect();
    let mut without = BTreeMap::new();
    for number in numbers {
        if let Some(block) = wikis.block(wiki, pageid, number).await? {
            let gone = gone.to_vec();
            without.insert(number, blocking(move || texts::erase(&block, &gone)).await?);
        }
    }
    Ok(without)
}

/// Runs something long where it may block.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::Internal(format!("the work came to no end: {error}"))))
}
