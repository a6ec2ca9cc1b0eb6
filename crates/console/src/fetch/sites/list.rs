//! The list of sites, in the order of their addresses.

use axum::extract::State as Shared;
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use malla_fetch::ROOM;
use malla_queue::{LaneFilter, LaneKey, Scope, UnixMs};
use maud::{Markup, html};

use super::super::{SITES, milliseconds, status_badge};
use super::{Shown, pause, site_path};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, lanes, parts, words};

const ROWS: usize = 50;
/// Sites that are looked up at the same time.
const AT_ONCE: usize = 8;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let after = params.get("cursor").map(|key| LaneKey::trusted(key.to_owned()));
    let (sites, next) = find(console, &filter(params), after.as_ref(), ROWS).await?;
    let next = next.map(|key| key.to_string());
    let rows = rows(console.now(), params, &sites, next.is_some());
    let pager = parts::pager(SITES, &params.only(&["search", "cursor"]), next, (t!("First"), t!("Further")));
    Ok(Page::new(SITES, t!("Sites"))
        .lead(html! { (t!("Each site is asked by one device at a time, as slowly as it wants.")) })
        .csv(params.only(&["search"]).link("/fetch/sites.csv"))
        .api(person, "/api/v1/fetch/sites")
        .still(filters(params))
        .live("sites", rows)
        .live("pager", pager))
}

fn filter(params: &Params) -> LaneFilter {
    LaneFilter { room: Some(ROOM.to_owned()), paused: None, search: params.get("search").map(str::to_owned) }
}

/// Sites belong to nobody: what waits there is told, not for whom.
async fn find(
    console: &Console,
    filter: &LaneFilter,
    after: Option<&LaneKey>,
    rows: usize,
) -> malla_queue::Result<(Vec<Shown>, Option<LaneKey>)> {
    let found = console.queue.lanes(&Scope::All, filter, after, rows).await?;
    let known = stream::iter(found.lanes).map(|lane| Shown::of(console, lane)).buffered(AT_ONCE);
    Ok((known.try_filter_map(async |site| Ok(site)).try_collect().await?, found.next))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, _: Visitor<See>, params: Params) -> Response {
    const COLUMNS: [&str; 12] = [
        "site",
        "paused",
        "waiting",
        "running",
        "gap_ms",
        "slowed_by_ms",
        "page_ms",
        "failures",
        "rests_until",
        "robots_status",
        "robots_fetched_at",
        "robots_until",
    ];
    let filter = filter(&params);
    export::csv("sites", &COLUMNS, move |after: Option<LaneKey>, most| {
        let (console, filter) = (console.clone(), filter.clone());
        async move {
            let (sites, next) = find(&console, &filter, after.as_ref(), most).await?;
            let now = console.now();
            Ok((sites.iter().map(|site| cells(now, site)).collect(), next))
        }
    })
}

fn cells(now: UnixMs, shown: &Shown) -> Vec<String> {
    let Shown { lane, site, state, robots } = shown;
    vec![
        site.to_string(),
        if lane.paused { "yes" } else { "no" }.to_owned(),
        shown.waiting().to_string(),
        lane.counts.running.to_string(),
        lane.settings.gap_ms.to_string(),
        state.slowed_ms.to_string(),
        state.page_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        state.failures.to_string(),
        export::moment(state.rest_until.filter(|_| state.rests(now))),
        robots.as_ref().map(|robots| robots.status.to_string()).unwrap_or_default(),
        export::moment(robots.as_ref().map(|robots| robots.fetched_at)),
        export::moment(robots.as_ref().map(|robots| robots.until)),
    ]
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action=(SITES) role="search" {
            label.wide { span.label { (t!("Search")) }
                input type="search" name="search" value=(params.typed("search")) placeholder=(t!("part of an address")); }
            div.buttons {
                button { (t!("Filter")) }
                @if params.get("search").is_some() { a.button.plain href=(SITES) { (t!("Clear")) } }
            }
        }
    }
}

fn rows(now: UnixMs, params: &Params, sites: &[Shown], more: bool) -> Markup {
    if sites.is_empty() {
        return nothing(params, more);
    }
    html! {
        section.card {
            table.rows.dense {
                thead { tr {
                    th { (t!("Site")) } th { (t!("Next")) } th.num { (t!("Waiting")) } th.num { (t!("Running")) } th.num { (t!("Gap")) }
                    th.num { (t!("Slowed by")) } th.num { (t!("Page")) } th.num { (t!("Failures")) } th { (t!("Rests")) } th { "robots.txt" }
                } }
                tbody { @for site in sites { (line(now, site)) } }
            }
        }
    }
}

fn line(now: UnixMs, shown: &Shown) -> Markup {
    let Shown { lane, site, state, robots } = shown;
    html! {
        tr {
            td data-label=(t!("Site")) { a href=(site_path(site.as_str())) { (site) } }
            td data-label=(t!("Next")) { (lanes::readiness(lane, now)) }
            td.num.quiet[shown.waiting() == 0] data-label=(t!("Waiting")) { (words::count(shown.waiting())) }
            td.num.quiet[lane.counts.running == 0] data-label=(t!("Running")) { (words::count(lane.counts.running)) }
            td.num data-label=(t!("Gap")) { (pause(lane.settings.gap_ms)) }
            td.num data-label=(t!("Slowed by")) {
                @if state.slowed_ms == 0 { span.quiet { "–" } }
                @else { span.badge.s-paused { (milliseconds(state.slowed_ms)) } }
            }
            td.num data-label=(t!("Page")) {
                @match state.page_ms { Some(ms) => (milliseconds(ms)), None => span.quiet { "–" } }
            }
            td.num.quiet[state.failures == 0] data-label=(t!("Failures")) { (state.failures) }
            td data-label=(t!("Rests")) { (parts::moment(now, state.rest_until.filter(|_| state.rests(now)))) }
            td data-label="robots.txt" {
                @match robots {
                    Some(robots) => {
                        (status_badge(robots.status)) " "
                        span.quiet.note { (rich!("again {}", words::time(now, robots.until))) }
                    },
                    None => span.quiet { (t!("not known")) },
                }
            }
        }
    }
}

fn nothing(params: &Params, more: bool) -> Markup {
    if more {
        return parts::empty(t!("Nothing matches among the sites looked at so far: go on with “Further”."), None);
    }
    if params.get("search").is_some() {
        return parts::empty(t!("No site matches."), Some((SITES, t!("Show all sites"))));
    }
    parts::empty(t!("There are no sites yet: one is met with the first page that somebody wants of it."), None)
}
