//! The list of lanes, in the order of their keys.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use malla_queue::{Lane, LaneFilter, LaneKey, LanePage, Room, State, UnixMs};
use maud::{Markup, html};

use super::{gap, pause_button, readiness};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, parts};

const ROWS: usize = 50;
const PAUSED: [(&str, &str); 3] = [("", "any"), ("yes", "paused"), ("no", "not paused")];
const NAMES: &[&str] = &["search", "room", "paused"];

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new("/lanes", "Lanes");
    let filter = match read_filter(params) {
        Ok(filter) => filter,
        Err(sentence) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
    };
    let after = params.get("cursor").map(|key| LaneKey::trusted(key.to_owned()));
    let found = console.queue.lanes(&person.principal.scope(), &filter, after.as_ref(), ROWS).await?;
    let links = params.only(&["search", "room", "paused", "cursor"]);
    let next = found.next.as_ref().map(ToString::to_string);
    Ok(page
        .still(filters(params))
        .live("lanes", rows(person, console.now(), params, &found))
        .live("pager", parts::pager("/lanes", &links, next, ("First", "Further"))))
}

fn read_filter(params: &Params) -> Result<LaneFilter, String> {
    let room = params.get("room").map(Room::new).transpose().map_err(|error| format!("{error}."))?;
    let paused = match params.get("paused") {
        None => None,
        Some("yes") => Some(true),
        Some("no") => Some(false),
        Some(other) => return Err(format!("\"{other}\" does not say whether a lane is paused: choose yes or no.")),
    };
    Ok(LaneFilter { room: room.map(|room| room.to_string()), paused, search: params.get("search").map(str::to_owned) })
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action="/lanes" role="search" {
            label.wide { span.label { "Search" }
                input type="search" name="search" value=(params.typed("search")) placeholder="part of a key"; }
            label { span.label { "Room" } input name="room" value=(params.typed("room")) placeholder="drill"; }
            label { span.label { "Paused" }
                (parts::select("paused", &PAUSED, params.typed("paused"))) }
            div.buttons {
                button { "Filter" }
                @if !params.only(NAMES).is_empty() { a.button.plain href="/lanes" { "Clear" } }
            }
        }
    }
}

fn rows(person: &Person, now: UnixMs, params: &Params, found: &LanePage) -> Markup {
    if found.lanes.is_empty() {
        return nothing(params, found.next.is_some());
    }
    html! {
        section.card {
            table.rows.dense {
                thead { tr {
                    th { "Lane" } th { "Next start" } th.num { "Queued" } th.num { "Running" } th.num { "Paused" }
                    th.num { "Failed" } th.wide-only { "" } th.num { "Ceiling" } th.num { "Gap" } th {}
                } }
                tbody { @for lane in &found.lanes { tr {
                    td data-label="Lane" { (parts::lane_link(&lane.key)) }
                    td data-label="Next start" { (readiness(lane, now)) }
                    @for state in [State::Queued, State::Running, State::Paused, State::Failed] {
                        td.num data-label=(state) { (tally(lane, state)) }
                    }
                    td.wide-only { (parts::share(&lane.counts)) }
                    td.num data-label="Ceiling" { (lane.settings.ceiling) }
                    td.num data-label="Gap" { (gap(lane)) }
                    td.end { (pause_button(person, lane, "")) }
                } } }
            }
        }
    }
}

fn tally(lane: &Lane, state: State) -> Markup {
    let path = Params::from([("lane", lane.key.as_str()), ("state", state.name())]).link("/tasks");
    parts::tally(lane.counts.of(state), &path)
}

fn nothing(params: &Params, more: bool) -> Markup {
    if more {
        return parts::empty("Nothing matches among the lanes looked at so far: go on with “Further”.", None);
    }
    if params.only(NAMES).is_empty() {
        return parts::empty("There are no lanes yet: a lane comes into being with its first task.", None);
    }
    parts::empty("No lane matches these filters.", Some(("/lanes", "Show all lanes")))
}
