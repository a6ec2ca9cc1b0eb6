//! A walk over a page's history with its texts, from the mark to the newest revision. Everything up to the mark is always
//! kept, so whatever ends a walk leaves no gap.

use std::sync::Arc;

use super::errand::{Errand, Next, Shelf, Stop, Told, Turn, go};
use super::find::fail;
use super::stage::{Stage, Walk};
use crate::mediawiki::{Answer, RawPage, Trouble, WITH_TEXT_MAX};
use crate::page::{Mark, PageFacts, PageId};
use crate::shelving::Fetched;
use crate::site::{Wiki, WikiId};

/// Times that a wiki may forget where a walk was.
pub(super) const RESTARTS_MAX: u32 = 5;

impl Errand<'_> {
    pub(super) async fn walk(&mut self, walk: Walk) -> Result<Turn, Stop> {
        let wiki = self.wiki(walk.wiki).await?;
        // An answer that does not come may be too much for the wiki.
        let limit = if walk.bare { 1 } else { (walk.limit >> (self.task.failures / 3).min(6)).max(1) };
        let url = self.api(&wiki.api).walk(walk.pageid, walk.from, walk.cursor.as_ref(), limit, !walk.bare);
        let answer = match self.ask_api(&url).await {
            Err(Stop::TooLarge) => return smaller(&wiki, walk, limit),
            Err(Stop::Trouble(Trouble::BadContinue)) => return self.restart(&wiki, walk).await,
            other => other?,
        };
        if walk.cursor.is_some() && answer.next == walk.cursor && !is_empty(&answer, walk.pageid) {
            return Err(
                Trouble::Never("the wiki answers with the same part of the history again and again".into()).into()
            );
        }
        let cut = answer.is_cut();
        let next = answer.next.clone();
        let page = the_page(answer, walk.pageid)?;
        if page.missing {
            return Ok(gone(wiki, page, walk.pageid));
        }
        let facts = facts(&page);
        let fetched = fetched(page, walk.pageid)?;
        match next {
            Some(cursor) if fetched.is_empty() && walk.bare => {
                let why = format!("the wiki's history does not go on after {}", place(&cursor));
                Err(Trouble::Never(why).into())
            }
            // One text is larger than any answer may be: the revision comes without it.
            Some(cursor) if fetched.is_empty() => {
                tracing::info!(wiki = %wiki.api, page = walk.pageid.0, cut, "a text is too large for the wiki's answers");
                let stage = Stage::Walk(Walk { cursor: Some(cursor), bare: true, ..walk });
                Ok(Turn::new(go(&wiki, stage)?, Told::default()))
            }
            cursor => self.keep(wiki, walk, facts, fetched, cursor).await,
        }
    }

    /// Keeps what came and goes on, or ends.
    async fn keep(
        &mut self,
        wiki: Arc<Wiki>,
        mut walk: Walk,
        facts: PageFacts,
        fetched: Vec<Fetched>,
        cursor: Option<crate::mediawiki::Cursor>,
    ) -> Result<Turn, Stop> {
        self.note_walked(&fetched, walk.bare);
        for mark in fetched.iter().map(|one| one.revision.mark()) {
            walk.ascends &= walk.last.is_none_or(|last| last <= mark);
            walk.last = Some(mark);
            walk.top = walk.top.max(Some(mark));
        }
        let at_end = cursor.is_none();
        let compare = at_end && self.must_compare(&walk, &fetched).await?;
        let told = Told {
            wiki: Some(walk.wiki),
            pageid: Some(walk.pageid),
            title: Some(facts.title.clone()),
            note: if at_end { self.last_words() } else { Some("reading the history".into()) },
        };
        let shelf = Shelf {
            pageid: walk.pageid,
            facts,
            fetched: Arc::new(fetched),
            // Of a wiki that answers from the newest on, nothing is complete before all of it is there.
            mark: if at_end || walk.ascends { walk.top } else { None },
            complete: at_end,
            reconciled: at_end && walk.from.is_none(),
            visited: true,
            wiki: wiki.clone(),
        };
        let next = match cursor {
            Some(cursor) => {
                let limit = (walk.limit * 2).min(WITH_TEXT_MAX);
                go(&wiki, Stage::Walk(Walk { cursor: Some(cursor), bare: false, limit, ..walk }))?
            }
            None if compare => {
                if let Some(payload) = self.payload.as_mut() {
                    payload.counts.done = 0;
                }
                go(&wiki, Stage::List { wiki: walk.wiki, pageid: walk.pageid, cursor: None, restarts: 0 })?
            }
            None => Next::Done,
        };
        Ok(Turn::new(next, told).with(shelf))
    }

    /// Whether the whole list is compared after this walk: it did not begin at the beginning, and somebody asked, or what
    /// the wiki said is the newest revision did not come.
    async fn must_compare(&self, walk: &Walk, fetched: &[Fetched]) -> Result<bool, Stop> {
        let Some(payload) = self.payload.as_ref().filter(|_| walk.from.is_some()) else { return Ok(false) };
        if payload.extraction.is_some() || payload.reconcile {
            return Ok(true);
        }
        match payload.newest {
            Some(newest) if !fetched.iter().any(|one| one.revision.revid == newest) => {
                Ok(self.walker.wikis.known(walk.wiki, &[newest]).await?.is_empty())
            }
            _ => Ok(false),
        }
    }

    /// The wiki does not know the cursor any more: on from what is complete.
    async fn restart(&mut self, wiki: &Wiki, walk: Walk) -> Result<Turn, Stop> {
        if walk.restarts >= RESTARTS_MAX {
            return Err(Trouble::Never("the wiki forgets again and again where it was".into()).into());
        }
        let kept = self.walker.wikis.page(walk.wiki, walk.pageid).await?;
        let mark = kept.and_then(|page| page.mark);
        let again = Walk { restarts: walk.restarts + 1, ..Walk::new(walk.wiki, walk.pageid, mark) };
        let note = "the wiki forgot where it was: going on from what is complete";
        Ok(Turn::new(go(wiki, Stage::Walk(again))?, super::find::noted(note)))
    }

    pub(super) fn note_walked(&mut self, fetched: &[Fetched], bare: bool) {
        let Some(payload) = self.payload.as_mut() else { return };
        payload.counts.done += fetched.len() as u64;
        let without = fetched.iter().filter(|one| one.text.is_none() && !one.revision.text_hidden).count() as u64;
        payload.skipped += if bare { without } else { 0 };
    }

    /// What is left to say at the end.
    pub(super) fn last_words(&self) -> Option<String> {
        match self.payload.as_ref().map_or(0, |payload| payload.skipped) {
            0 => None,
            1 => Some("1 revision is kept without its text, which is too large for the wiki's answers".into()),
            n => {
                Some(format!("{n} revisions are kept without their texts, which are too large for the wiki's answers"))
            }
        }
    }
}

/// The answer was larger than allowed here: fewer at once, or one without its text.
fn smaller(wiki: &Wiki, walk: Walk, limit: usize) -> Result<Turn, Stop> {
    if walk.bare {
        return Err(Trouble::Never("a revision without its text is larger than an answer may be".into()).into());
    }
    let walk = if limit > 1 { Walk { limit: limit / 2, ..walk } } else { Walk { bare: true, ..walk } };
    Ok(Turn::new(go(wiki, Stage::Walk(walk))?, Told::default()))
}

fn place(cursor: &crate::mediawiki::Cursor) -> String {
    cursor.pairs().map(|(_, value)| value).find(|value| value.contains('|') && value.len() > 2).unwrap_or_default()
}

fn is_empty(answer: &Answer, pageid: PageId) -> bool {
    answer.query.pages.iter().all(|page| page.pageid != pageid.0 || page.revisions.is_empty())
}

/// The page that was asked about.
pub(super) fn the_page(answer: Answer, pageid: PageId) -> Result<RawPage, Stop> {
    let found = answer.query.pages.into_iter().find(|page| page.pageid == pageid.0);
    found.ok_or_else(|| Trouble::Again("the wiki's answer is about another page".into()).into())
}

pub(super) fn facts(page: &RawPage) -> PageFacts {
    PageFacts { title: page.title.clone(), ns: page.ns, deleted: false }
}

pub(super) fn fetched(page: RawPage, pageid: PageId) -> Result<Vec<Fetched>, Stop> {
    let each = page.revisions.into_iter().map(|raw| raw.fetched(pageid).map_err(Trouble::Again));
    Ok(each.collect::<Result<_, _>>()?)
}

/// The wiki does not have the page any more. What was kept stays.
pub(super) fn gone(wiki: Arc<Wiki>, page: RawPage, pageid: PageId) -> Turn {
    let why = format!("{} has no page {} any more; what was kept of it stays", wiki.name, pageid.0);
    let facts = PageFacts { title: page.title, ns: page.ns, deleted: true };
    fail(why).with(Shelf {
        wiki,
        pageid,
        facts,
        fetched: Arc::default(),
        mark: None,
        complete: false,
        reconciled: false,
        visited: true,
    })
}

/// A page with what is told of it when nothing came.
pub(super) fn compared(
    wiki: Arc<Wiki>,
    pageid: PageId,
    facts: PageFacts,
    fetched: Vec<Fetched>,
    reconciled: bool,
) -> Shelf {
    Shelf { wiki, pageid, facts, fetched: Arc::new(fetched), mark: None, complete: false, reconciled, visited: true }
}

/// What an extraction is told of a page.
pub(super) fn told(wiki: WikiId, pageid: PageId, title: &str, note: Option<String>) -> Told {
    Told { wiki: Some(wiki), pageid: Some(pageid), title: Some(title.to_owned()), note }
}

/// The later of two places.
pub(super) fn later(one: Option<Mark>, other: Option<Mark>) -> Option<Mark> {
    one.max(other)
}
