//! Compares a wiki's whole list of a page's revisions with what is kept: a revision that was added in the past is fetched,
//! one that is hidden now is fetched again and erased.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::errand::{Errand, Next, Stop, Told, Turn, go};
use super::find::noted;
use super::stage::{Fetch, Stage};
use super::walk::{RESTARTS_MAX, compared, facts, fetched, gone, the_page, told};
use crate::mediawiki::{Cursor, Listed, Trouble, WITH_TEXT_MAX};
use crate::page::{PageFacts, PageId};
use crate::revision::{Known, RevId};
use crate::shelving::Fetched;
use crate::site::{Wiki, WikiId};

impl Errand<'_> {
    /// Compares a part of the list.
    pub(super) async fn list(
        &mut self,
        id: WikiId,
        pageid: PageId,
        cursor: Option<Cursor>,
        restarts: u32,
    ) -> Result<Turn, Stop> {
        let wiki = self.wiki(id).await?;
        let url = self.api(&wiki.api).list(pageid, cursor.as_ref());
        let answer = match self.ask_api(&url).await {
            Err(Stop::Trouble(Trouble::BadContinue)) if restarts < RESTARTS_MAX => {
                let stage = Stage::List { wiki: id, pageid, cursor: None, restarts: restarts + 1 };
                return Ok(Turn::new(go(&wiki, stage)?, noted("the wiki forgot where it was: comparing anew")));
            }
            Err(Stop::TooLarge) => {
                return Err(Trouble::Never("the list of revisions is larger than an answer may be".into()).into());
            }
            other => other?,
        };
        if answer.next.is_some() && answer.next == cursor {
            return Err(Trouble::Never("the wiki's list of revisions does not go on".into()).into());
        }
        let next = answer.next.clone();
        let page = the_page(answer, pageid)?;
        if page.missing {
            return Ok(gone(wiki, page, pageid));
        }
        let facts = facts(&page);
        let listed: Result<Vec<Listed>, String> = page.revisions.into_iter().map(|raw| raw.listed()).collect();
        let listed = listed.map_err(Trouble::Again)?;
        if let Some(payload) = self.payload.as_mut() {
            payload.counts.done += listed.len() as u64;
        }
        let revids = self.differing(id, pageid, &listed).await?;
        let (wiki_id, title) = (wiki.id, facts.title.clone());
        let turn = if revids.is_empty() {
            self.after_list(wiki, pageid, facts, Vec::new(), next)?
        } else {
            let fetch = Fetch { wiki: id, pageid, revids, limit: WITH_TEXT_MAX, bare: false, then: next };
            Turn::new(go(&wiki, Stage::Fetch(fetch))?, Told::default())
        };
        let note = match turn.next {
            Next::Done => self.last_words(),
            _ => Some("comparing the wiki's list with what is kept".into()),
        };
        Ok(Turn { told: told(wiki_id, pageid, &title, note), ..turn })
    }

    /// Those that are missing or say something else.
    async fn differing(&self, id: WikiId, pageid: PageId, listed: &[Listed]) -> Result<Vec<RevId>, Stop> {
        let numbers: Vec<RevId> = listed.iter().map(|one| one.revid).collect();
        let known = self.walker.wikis.known(id, &numbers).await?;
        let known: HashMap<RevId, Known> = known.into_iter().map(|one| (one.revid, one)).collect();
        let differs = |one: &&Listed| !known.get(&one.revid).is_some_and(|kept| one.is_kept_as(kept, pageid));
        Ok(listed.iter().filter(differs).map(|one| one.revid).collect())
    }

    /// Fetches some of what differs.
    pub(super) async fn fetch(&mut self, fetch: Fetch) -> Result<Turn, Stop> {
        let wiki = self.wiki(fetch.wiki).await?;
        let limit = if fetch.bare { 1 } else { (fetch.limit >> (self.task.failures / 3).min(6)).max(1) };
        let (asked, rest) = fetch.revids.split_at(limit.min(fetch.revids.len()));
        let url = self.api(&wiki.api).by_number(asked, !fetch.bare);
        let answer = match self.ask_api(&url).await {
            Err(Stop::TooLarge) if limit > 1 => return fewer(&wiki, Fetch { limit: limit / 2, ..fetch }),
            Err(Stop::TooLarge) if !fetch.bare => return fewer(&wiki, Fetch { bare: true, ..fetch }),
            Err(Stop::TooLarge) => {
                return Err(Trouble::Never("a revision is larger than an answer may be".into()).into());
            }
            other => other?,
        };
        let cut = answer.next.is_some();
        let page = answer.query.pages.into_iter().find(|page| page.pageid == fetch.pageid.0);
        let facts_now = page.as_ref().map(facts);
        let came = page.map_or_else(|| Ok(Vec::new()), |page| fetched(page, fetch.pageid))?;
        if cut && came.is_empty() {
            return match (limit, fetch.bare) {
                (1, false) => fewer(&wiki, Fetch { bare: true, ..fetch }),
                (1, true) => {
                    Err(Trouble::Never("the wiki gives a revision neither with nor without its text".into()).into())
                }
                _ => fewer(&wiki, Fetch { limit: 1, ..fetch }),
            };
        }
        self.note_skipped(&came, fetch.bare);
        let got: HashSet<RevId> = came.iter().map(|one| one.revision.revid).collect();
        // Those that an answer that was not cut does not have are gone since the list was made.
        let left = asked.iter().filter(|revid| cut && !got.contains(revid)).chain(rest).copied().collect::<Vec<_>>();
        let facts = match facts_now {
            Some(facts) => facts,
            None => self.kept_facts(&fetch).await?,
        };
        if left.is_empty() {
            return self.after_list(wiki, fetch.pageid, facts, came, fetch.then);
        }
        let shelf = compared(wiki.clone(), fetch.pageid, facts, came, false);
        let limit = (fetch.limit * 2).min(WITH_TEXT_MAX);
        let stage = Stage::Fetch(Fetch { revids: left, limit, bare: false, ..fetch });
        Ok(Turn::new(go(&wiki, stage)?, noted("fetching what is missing or was changed")).with(shelf))
    }

    async fn kept_facts(&self, fetch: &Fetch) -> Result<PageFacts, Stop> {
        let kept = self.walker.wikis.page(fetch.wiki, fetch.pageid).await?;
        let none = || PageFacts { title: String::new(), ns: 0, deleted: false };
        Ok(kept.map_or_else(none, |page| page.facts))
    }

    fn note_skipped(&mut self, came: &[Fetched], bare: bool) {
        let without = came.iter().filter(|one| bare && one.text.is_none() && !one.revision.text_hidden).count() as u64;
        if let Some(payload) = self.payload.as_mut() {
            payload.skipped += without;
        }
    }

    /// On with the list, or the end.
    fn after_list(
        &self,
        wiki: Arc<Wiki>,
        pageid: PageId,
        facts: PageFacts,
        came: Vec<Fetched>,
        then: Option<Cursor>,
    ) -> Result<Turn, Stop> {
        let at_end = then.is_none();
        let next = match then {
            None => Next::Done,
            cursor => go(&wiki, Stage::List { wiki: wiki.id, pageid, cursor, restarts: 0 })?,
        };
        let note = if at_end { self.last_words() } else { Some("comparing the wiki's list with what is kept".into()) };
        let turn = Turn::new(next, told(wiki.id, pageid, &facts.title, note));
        Ok(turn.with(compared(wiki, pageid, facts, came, at_end)))
    }
}

fn fewer(wiki: &Wiki, fetch: Fetch) -> Result<Turn, Stop> {
    Ok(Turn::new(go(wiki, Stage::Fetch(fetch))?, Told::default()))
}
