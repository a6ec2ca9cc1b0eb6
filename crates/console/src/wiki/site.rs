//! One wiki: what it says of itself, how often it is asked, its figures and its pages.

use std::collections::HashMap;
use std::time::Duration;

use axum::extract::{Path, State as Shared};
use malla_queue::{Error, Lane, Scope, UnixMs};
use malla_wiki::{PageId, Wiki, lane_of, metrics};
use maud::{Markup, html};

use super::overview::scraped;
use super::places::{ARTICLES, WIKI, find, name, wiki_path};
use super::{article, articles, tile};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, groups, lanes, parts, words};

const ROWS: usize = 50;
const DAY_MS: i64 = 86_400_000;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(wiki): Path<String>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    let found = find(&console, &visitor, &wiki).await?;
    let measured = metrics::of_wiki(console.wikis.as_ref(), &found).await?;
    page_with(&console, &visitor, &found, &params, article::of_wiki(found.id, &measured)).await
}

/// The page for somebody who has it open: what is dear to make stays as it was.
pub(crate) async fn live(console: &Console, person: &Person, wiki: &str, params: &Params) -> Result<Page, Refusal> {
    let wiki = find(console, person, wiki).await?;
    page_with(console, person, &wiki, params, html! {}).await
}

async fn page_with(
    console: &Console,
    person: &Person,
    wiki: &Wiki,
    params: &Params,
    figures: Markup,
) -> Result<Page, Refusal> {
    let group = groups::names(console, [wiki.group].into_iter()).await?.into_values().next();
    let lane = lane(console, wiki).await?;
    let now = console.now();
    let page = Page::new(WIKI, name(wiki))
        .up(WIKI, t!("Wiki"))
        .lead(html! {
            span.key { (wiki.api) } @if let Some(group) = &group { (rich!(", of {}", group)) }
            @if wiki.scraped { " " (scraped()) }
        })
        .live("figures", tiles(wiki, visits_today(now, wiki)))
        .live("budget", budget(visits_today(now, wiki), console.visits_per_day))
        .live("about", about(person, now, wiki, lane.as_ref()))
        .still(figures);
    let (rows, pager) = pages(console, person, wiki, params).await?;
    Ok(page.live("pages", rows).live("pager", pager))
}

/// The counter is of one day; before the first visit of a day it is that of another.
fn visits_today(now: UnixMs, wiki: &Wiki) -> u64 {
    if wiki.visits_day == now.0.div_euclid(DAY_MS) { wiki.visits } else { 0 }
}

/// It is there from the first request on, unless its tasks were forgotten. It belongs to nobody, as the host does.
async fn lane(console: &Console, wiki: &Wiki) -> Result<Option<Lane>, Refusal> {
    match console.queue.lane(&Scope::All, &lane_of(&wiki.api)?).await {
        Ok(lane) => Ok(Some(lane)),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn tiles(wiki: &Wiki, visits: u64) -> Markup {
    let each = wiki.revisions.checked_div(wiki.pages).map_or("–".into(), words::count);
    html! {
        ul.tiles.small-tiles.four aria-label=(t!("Figures")) {
            (tile(t!("Articles"), &words::count(wiki.pages)))
            (tile(t!("Revisions"), &words::count(wiki.revisions)))
            (tile(t!("Revisions of an article"), &each))
            (tile(t!("Visits today"), &words::count(visits)))
        }
    }
}

/// What is asked without anybody wanting it.
fn budget(visits: u64, most: u64) -> Markup {
    html! {
        section.card.progress {
            div.task-head {
                strong { (t!("Visits of today")) }
                @if most == 0 { span.quiet { (t!("Articles are visited again only when somebody asks.")) } }
                @else {
                    span.quiet {
                        (rich!("{} of {} that nobody had to ask for, since midnight (UTC); {} left", words::count(visits), words::count(most), words::count(most.saturating_sub(visits))))
                    }
                }
            }
            @if most > 0 {
                (parts::stacked(&[("running", t!("made", "visits"), visits.min(most)), ("queued", t!("left"), most.saturating_sub(visits))], most))
            }
        }
    }
}

fn about(person: &Person, now: UnixMs, wiki: &Wiki, lane: Option<&Lane>) -> Markup {
    let general = |name: &str| wiki.about.get("general").and_then(|general| general.get(name)?.as_str());
    let operates = |lane: &&Lane| person.principal.scope().sees(lane.group);
    html! {
        section.card {
            div.card-head { h2 { (t!("About it", "wiki")) } }
            dl.facts.two {
                dt { (t!("Number")) } dd { (wiki.id) }
                dt { (t!("Locale")) } dd { @if wiki.locale.is_empty() { span.quiet { "–" } } @else { (wiki.locale) } }
                @if let Some(generator) = general("generator") { dt { (t!("Runs")) } dd { (generator) } }
                @if let Some(language) = general("lang") { dt { (t!("Language")) } dd { (language) } }
                dt { (t!("Found")) } dd { (words::time(now, wiki.found_at)) }
                @if let Some(lane) = lane {
                    dt { (t!("Next request")) } dd { (lanes::readiness(lane, now)) }
                    dt { (t!("Waiting")) } dd { (counted!(lane.counts.queued + lane.counts.paused, "request", "requests")) }
                    dt { (t!("Gap")) } dd { (words::lasted(Duration::from_millis(lane.settings.gap_ms))) }
                }
                @if let Some(lane) = lane.filter(operates) { dt { (t!("Lane")) } dd { (parts::lane_link(&lane.key)) } }
            }
        }
    }
}

async fn pages(console: &Console, person: &Person, wiki: &Wiki, params: &Params) -> Result<(Markup, Markup), Refusal> {
    let bad = |text: &str| Refusal::bad(say!("\"{text}\" is not a place in this list", text));
    let after = params.get("cursor").map(|text| text.parse().map(PageId).map_err(|_| bad(text))).transpose()?;
    let mut found = console.wikis.pages(wiki.id, after, ROWS + 1).await?;
    let more = found.len() > ROWS;
    found.truncate(ROWS);
    let next = found.last().filter(|_| more).map(|page| page.pageid.0.to_string());
    let number = wiki.id.to_string();
    let all = Params::from([("wiki", number.as_str())]).link(ARTICLES);
    let known = HashMap::from([(wiki.id, wiki.clone())]);
    let rows = html! {
        section.card {
            div.card-head { h2 { (t!("Articles")) } a href=(all) { (t!("Search them")) } }
            @if found.is_empty() { p.quiet { (t!("None is kept yet.")) } }
            @else { (articles::table(person, console.now(), &found, &known)) }
        }
    };
    Ok((rows, parts::pager(&wiki_path(wiki.id), &params.only(&["cursor"]), next, (t!("First"), t!("Further")))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_never_overdrawn_on_the_page() {
        let text = budget(12_000, 10_000).into_string();
        assert!(
            text.contains("12,000 of 10,000") && text.contains("0 left") && text.contains("width=\"100.00\""),
            "{text}"
        );
        assert!(budget(0, 0).into_string().contains("only when somebody asks"));
    }
}
