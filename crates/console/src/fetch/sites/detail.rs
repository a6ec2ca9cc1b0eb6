//! One site: how it stands, what waits, and what its robots.txt says.

use axum::extract::State as Shared;
use malla_access::Permission;
use malla_fetch::PageUrl;
use malla_queue::{Error, Scope, UnixMs};
use maud::{Markup, html};

use super::super::{SITES, milliseconds};
use super::{Shown, pause, robots, told};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, lanes, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let shown = find(console, params.typed("url")).await?;
    let now = console.now();
    Ok(Page::new(SITES, shown.site.to_string())
        .up(SITES, t!("Sites"))
        .live("site", facts(person, now, &shown))
        .still(robots::question(&shown, params))
        .live("robots", robots::card(now, shown.robots.as_ref())))
}

/// The site of this address, or of the page with it.
async fn find(console: &Console, url: &str) -> Result<Shown, Refusal> {
    let missing = || Refusal::not_found(&say!("Site \"{url}\"", url));
    let site = PageUrl::parse(url).map_err(|_| missing())?.site();
    // It belongs to nobody: what waits there is told, not for whom.
    let lane = match console.queue.lane(&Scope::All, &site.lane()).await {
        Ok(lane) => lane,
        Err(Error::NotFound(_)) => return Err(missing()),
        Err(error) => return Err(error.into()),
    };
    Shown::of(console, lane).await?.ok_or_else(missing)
}

fn facts(person: &Person, now: UnixMs, shown: &Shown) -> Markup {
    let Shown { lane, state, .. } = shown;
    let operates = person.principal.scope().sees(lane.group);
    html! {
        section.card {
            div.card-head {
                h2 { (t!("How it stands")) }
                @if operates { (lanes::pause_button(person, lane, lanes::Pausing::Site)) }
            }
            p { (told::standing(now, shown).join(" ")) }
            dl.facts {
                dt { (t!("Next page")) } dd { (lanes::readiness(lane, now)) }
                dt { (t!("Waiting")) } dd { (tasks(operates, shown, shown.waiting())) }
                dt { (t!("Running")) } dd { (words::count(lane.counts.running)) }
                dt { (t!("Gap")) }
                dd {
                    (pause(lane.settings.gap_ms))
                    @if state.slowed_ms > 0 { span.quiet { (rich!(", of that {} for now", milliseconds(state.slowed_ms))) } }
                }
                dt { (t!("Good answers in a row")) } dd { (words::count(u64::from(state.good))) }
                @if operates { dt { (t!("Lane")) } dd { (parts::lane_link(&lane.key)) } }
            }
            @if !operates { p.quiet { (t!("Sites are shared by all groups: an admin pauses one or changes its gap.")) } }
            @else if person.may(Permission::Change) {
                p { a.button href=(parts::lane_path(&lane.key)) { (t!("Change its gap")) } }
            }
        }
    }
}

fn tasks(operates: bool, shown: &Shown, n: u64) -> Markup {
    let path = Params::from([("lane", shown.lane.key.as_str())]).link("/tasks");
    html! { @if operates { (parts::tally(n, &path)) } @else { (words::count(n)) } }
}
