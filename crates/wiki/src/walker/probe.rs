//! Asks which of some pages have changed: the newest revision of fifty pages in one request.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use malla_queue::{NewTask, Priority};

use super::errand::{Errand, Next, Shelf, Stop, Told, Turn};
use super::stage::{Payload, Probe, Stage, Walk};
use crate::mediawiki::{PROBE_MAX, RawPage, Trouble};
use crate::page::{Page, PageFacts, PageId};
use crate::revision::RevId;
use crate::revisit::visit_key;
use crate::site::{Wiki, lane_of};
use crate::verbs::Visited;

impl Errand<'_> {
    pub(super) async fn probe(&mut self, probe: Probe) -> Result<Turn, Stop> {
        if probe.pages.is_empty() || probe.pages.len() > PROBE_MAX {
            return Err(Trouble::Never(format!("from 1 to {PROBE_MAX} pages are asked about at once")).into());
        }
        let wiki = self.wiki(probe.wiki).await?;
        let url = self.api(&wiki.api).probe(&probe.pages);
        let found = self.ask_api(&url).await?.query.pages;
        let newest: Vec<RevId> = found.iter().filter_map(|page| page.lastrevid.map(RevId)).collect();
        let known = self.walker.wikis.known(wiki.id, &newest).await?;
        let known: HashSet<RevId> = known.into_iter().map(|one| one.revid).collect();
        let found: HashMap<i64, RawPage> = found.into_iter().map(|page| (page.pageid, page)).collect();
        let mut turn = Turn::new(Next::Done, Told::default());
        for pageid in &probe.pages {
            let kept = self.walker.wikis.page(wiki.id, *pageid).await?;
            let (Some(kept), Some(now)) = (kept, found.get(&pageid.0)) else { continue };
            turn.shelves.extend(renamed(&wiki, &kept, now));
            let last = now.lastrevid.map(RevId).filter(|_| !now.missing);
            let reconcile = probe.reconcile.contains(pageid) && !now.missing;
            if reconcile || last.is_some_and(|last| !known.contains(&last)) {
                turn.follow_ups.push(self.visit(&wiki, *pageid, &kept, last, reconcile)?);
            }
        }
        turn.visited = Some(Visited { wiki: wiki.id, pages: probe.pages });
        Ok(turn)
    }

    fn visit(
        &self,
        wiki: &Wiki,
        pageid: PageId,
        kept: &Page,
        newest: Option<RevId>,
        reconcile: bool,
    ) -> Result<NewTask, Stop> {
        let stage = Stage::Walk(Walk::new(wiki.id, pageid, kept.mark));
        let payload = Payload { newest, reconcile, ..Payload::at(None, stage) };
        let dedup = Some(visit_key(wiki.id, pageid));
        Ok(NewTask { dedup, priority: Priority::Low, ..self.follow_up(lane_of(&wiki.api)?, &payload)? })
    }
}

/// What a wiki says of a page, if that is something else than before.
fn renamed(wiki: &Arc<Wiki>, kept: &Page, now: &RawPage) -> Option<Shelf> {
    let facts = match now.missing {
        true => PageFacts { deleted: true, ..kept.facts.clone() },
        false => PageFacts { title: now.title.clone(), ns: now.ns, deleted: false },
    };
    (facts != kept.facts).then(|| Shelf {
        wiki: wiki.clone(),
        pageid: kept.pageid,
        facts,
        fetched: Arc::default(),
        mark: None,
        complete: false,
        reconciled: false,
        visited: false,
    })
}
