//! The list of sites, in the order of their addresses.

use axum::extract::State as Shared;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use malla_fetch::ROOM;
use malla_queue::{LaneFilter, LaneKey, Scope, UnixMs};
use maud::{Markup, html};

use super::super::{SITES, milliseconds, status_badge};
use super::{Shown, pause, site_path};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, lanes, parts, words};

const ROWS: usize = 50;
/// Sites that are looked up at the same time.
const AT_ONCE: usize = 8;

pub(crate) async fn show(Shared(console): Shared<Console>, _: Visitor<See>, params: Params) -> Result<Page, Refusal> {
    page(&console, &params).await
}

pub(crate) async fn page(console: &Console, params: &Params) -> Result<Page, Refusal> {
    let filter =
        LaneFilter { room: Some(ROOM.to_owned()), paused: None, search: params.get("search").map(str::to_owned) };
    let after = params.get("cursor").map(|key| LaneKey::trusted(key.to_owned()));
    // Sites belong to nobody: what waits there is told, not for whom.
    let found = console.queue.lanes(&Scope::All, &filter, after.as_ref(), ROWS).await?;
    let known = stream::iter(found.lanes).map(|lane| Shown::of(console, lane)).buffered(AT_ONCE);
    let sites: Vec<Shown> = known.try_filter_map(async |site| Ok(site)).try_collect().await?;
    let next = found.next.map(|key| key.to_string());
    let rows = rows(console.now(), params, &sites, next.is_some());
    let pager = parts::pager(SITES, &params.only(&["search", "cursor"]), next, (t!("First"), t!("Further")));
    Ok(Page::new(SITES, t!("Sites"))
        .lead(html! { (t!("Each site is asked by one device at a time, as slowly as it wants.")) })
        .still(filters(params))
        .live("sites", rows)
        .live("pager", pager))
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
