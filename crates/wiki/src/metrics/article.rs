//! What is told of an article: its history is counted from where it was counted to before.

use std::collections::{HashMap, HashSet};

use malla_queue::{Error, Result};

use super::tally::{Deeds, Tally};
use super::{ArticleMetrics, Editor, KeptTally, Share, TOP, packing, periods, timestamp};
use crate::page::{Mark, Page, PageId};
use crate::revision::Revision;
use crate::shelving::blocking;
use crate::site::Wiki;
use crate::verbs::Wikis;

/// Revisions read at once. What was counted is kept again when it has grown by so many.
const READ: usize = 1_000;
/// Revisions counted: what is kept while counting grows with them.
const REVISIONS_MAX: u64 = 2_000_000;
const MONTH_S: f64 = 365.25 * 86_400.0 / 12.0;

/// Counts an article's history. [`Error::NotFound`] if the page is not kept.
pub async fn of_page(wikis: &dyn Wikis, wiki: &Wiki, pageid: PageId) -> Result<ArticleMetrics> {
    let found = wikis.tally(wiki.id, pageid).await?;
    let (page, kept) = found.ok_or_else(|| Error::NotFound(format!("page {} of wiki {}", pageid.0, wiki.id)))?;
    let (mut tally, mut mark) = begin(kept).await?;
    let before = tally.revisions;
    let whole = loop {
        let revisions = wikis.history(wiki.id, pageid, mark, READ).await?;
        let room = usize::try_from(REVISIONS_MAX.saturating_sub(tally.revisions)).unwrap_or(usize::MAX);
        let counted = &revisions[..revisions.len().min(room)];
        counted.iter().for_each(|revision| tally.count(revision));
        mark = counted.last().map(Revision::mark).or(mark);
        if counted.len() < READ {
            break counted.len() == revisions.len();
        }
    };
    if let Some(mark) = mark.filter(|_| tally.revisions - before >= READ as u64) {
        tally = keep(wikis, &page, mark, tally).await?;
    }
    Ok(told(tally, &page, &bots(wiki), whole))
}

/// What was counted before and up to where; nothing if that cannot be read any more.
async fn begin(kept: Option<KeptTally>) -> Result<(Tally, Option<Mark>)> {
    let Some(KeptTally { mark, packed }) = kept else { return Ok(Default::default()) };
    let tally = blocking(move || Ok(packing::unpack(&packed))).await?;
    Ok(tally.map_or_else(Default::default, |tally| (tally, Some(mark))))
}

/// Keeps what was counted for the next time, unless it is too large or the page has changed since.
async fn keep(wikis: &dyn Wikis, page: &Page, mark: Mark, tally: Tally) -> Result<Tally> {
    let (tally, packed) = blocking(move || {
        let packed = packing::pack(&tally);
        Ok((tally, packed))
    })
    .await?;
    if let Some(packed) = packed
        && let Err(error) = wikis.keep_tally(page.wiki, page.pageid, page.version, KeptTally { mark, packed }).await
    {
        // What was asked for is known all the same.
        tracing::warn!(wiki = %page.wiki, page = page.pageid.0, %error, "what was counted of a page could not be kept");
    }
    Ok(tally)
}

fn bots(wiki: &Wiki) -> HashSet<&str> {
    wiki.about["bots"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect()
}

fn told(tally: Tally, page: &Page, bots: &HashSet<&str>, whole: bool) -> ArticleMetrics {
    let all = tally.revisions;
    let by_bots = bots.iter().filter_map(|name| tally.editors.get(*name)).map(|deeds| deeds.edits).sum();
    let lasted_s = match (&tally.first, &tally.last) {
        (Some(first), Some(last)) => (last.at.as_second() - first.at.as_second()) as f64,
        _ => 0.0,
    };
    let edits_per_month = all as f64 / (lasted_s / MONTH_S).max(1.0);
    let (months, years) = periods(&tally.months);
    let mut sizes = tally.sizes;
    sizes.end(tally.last.as_ref());
    ArticleMetrics {
        pageid: page.pageid,
        title: page.facts.title.clone(),
        revisions: all,
        whole,
        editors: tally.editors.len() as u64,
        minor: Share::of(tally.minor, all),
        anonymous: Share::of(tally.anonymous, all),
        bots: Share::of(by_bots, all),
        between_edits: tally.gaps.between(),
        edits_per_editor: all as f64 / tally.editors.len().max(1) as f64,
        edits_per_month,
        edits_per_year: all as f64 / (lasted_s / MONTH_S / 12.0).max(1.0),
        reverts: Share::of(tally.reverts, all),
        top_by_edits: top(&tally.editors, bots, all, |deeds| deeds.edits),
        top_by_text: top(&tally.editors, bots, all, |deeds| deeds.added),
        first: tally.first,
        last: tally.last,
        largest_addition: tally.largest_addition,
        largest_removal: tally.largest_removal,
        months,
        years,
        sizes: sizes.points,
        hours: tally.hours,
        weekdays: tally.weekdays,
    }
}

/// Those with the most of something, and something at all.
fn top(editors: &HashMap<String, Deeds>, bots: &HashSet<&str>, all: u64, of: fn(&Deeds) -> u64) -> Vec<Editor> {
    let mut list: Vec<(&String, &Deeds)> = editors.iter().filter(|(_, deeds)| of(deeds) > 0).collect();
    let order = |a: &(&String, &Deeds), b: &(&String, &Deeds)| of(b.1).cmp(&of(a.1)).then_with(|| a.0.cmp(b.0));
    if list.len() > TOP {
        list.select_nth_unstable_by(TOP, order);
        list.truncate(TOP);
    }
    list.sort_unstable_by(order);
    let editor = |(user, deeds): (&String, &Deeds)| Editor {
        user: user.clone(),
        edits: deeds.edits,
        share: deeds.edits as f64 / all.max(1) as f64,
        minor: deeds.minor,
        added: deeds.added,
        first: timestamp(deeds.first),
        last: timestamp(deeds.last),
        bot: bots.contains(user.as_str()),
    };
    list.into_iter().map(editor).collect()
}
