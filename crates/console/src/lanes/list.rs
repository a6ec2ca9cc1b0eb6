//! The list of lanes, in the order of their keys.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_queue::{Lane, LaneFilter, LaneKey, LanePage, Room, State, UnixMs};
use maud::{Markup, html};

use super::{Held, Pausing, bulk, ceiling, gap, held, standing, switch};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts};

const ROWS: usize = 50;
const PAUSED: [(&str, Text); 3] = [("", key!("any")), ("yes", key!("paused")), ("no", key!("not paused"))];
pub(super) const NAMES: &[&str] = &["search", "room", "paused"];

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new("/lanes", t!("Lanes"));
    let filter = match read_filter(params) {
        Ok(filter) => filter,
        Err(sentence) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
    };
    let after = params.get("cursor").map(|key| LaneKey::trusted(key.to_owned()));
    let found = console.queue.lanes(&person.principal.scope(), &filter, after.as_ref(), ROWS).await?;
    let held = held(console, &person.principal.scope(), &found.lanes).await?;
    let links = params.only(&["search", "room", "paused", "cursor"]);
    let next = found.next.as_ref().map(ToString::to_string);
    let asked = params.only(NAMES);
    Ok(page
        .csv(asked.link("/lanes.csv"))
        .api(person, &asked.link("/api/v1/lanes"))
        .still(filters(params))
        .still(bulk::bar(person, params))
        .live("lanes", rows(person, console.now(), params, &found, &held))
        .live("pager", parts::pager("/lanes", &links, next, (t!("First"), t!("Further")))))
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 11] = [
        "lane",
        "paused",
        "ceiling",
        "gap_ms",
        "queued",
        "running",
        "paused_tasks",
        "notified",
        "succeeded",
        "failed",
        "discarded",
    ];
    let filter = read_filter(&params).map_err(Refusal::bad)?;
    let scope = visitor.principal.scope();
    Ok(export::csv("lanes", &COLUMNS, move |after: Option<LaneKey>, most| {
        let (console, filter, scope) = (console.clone(), filter.clone(), scope.clone());
        async move {
            let page = console.queue.lanes(&scope, &filter, after.as_ref(), most).await?;
            Ok((page.lanes.iter().map(cells).collect(), page.next))
        }
    }))
}

fn cells(lane: &Lane) -> Vec<String> {
    let own = [
        lane.key.to_string(),
        if lane.paused { "yes" } else { "no" }.to_owned(),
        lane.settings.ceiling.to_string(),
        lane.settings.gap_ms.to_string(),
    ];
    let states = [
        State::Queued,
        State::Running,
        State::Paused,
        State::Notified,
        State::Succeeded,
        State::Failed,
        State::Discarded,
    ];
    own.into_iter().chain(states.map(|state| lane.counts.of(state).to_string())).collect()
}

pub(super) fn read_filter(params: &Params) -> Result<LaneFilter, String> {
    let room = params.get("room").map(Room::new).transpose().map_err(|error| format!("{error}."))?;
    let paused = match params.get("paused") {
        None => None,
        Some("yes") => Some(true),
        Some("no") => Some(false),
        Some(other) => return Err(say!("\"{other}\" does not say whether a lane is paused: choose yes or no.", other)),
    };
    Ok(LaneFilter { room: room.map(|room| room.to_string()), paused, search: params.get("search").map(str::to_owned) })
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action="/lanes" role="search" {
            label.wide { span.label { (t!("Search")) }
                input type="search" name="search" value=(params.typed("search")) placeholder=(t!("part of a key")); }
            label { span.label { (t!("Room")) } input name="room" value=(params.typed("room")) placeholder="drill"; }
            label { span.label { (t!("Paused")) }
                (parts::choose("paused", &PAUSED, params.typed("paused"))) }
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).is_empty() { a.button.plain href="/lanes" { (t!("Clear")) } }
            }
        }
    }
}

fn rows(person: &Person, now: UnixMs, params: &Params, found: &LanePage, held: &Held) -> Markup {
    if found.lanes.is_empty() {
        return nothing(params, found.next.is_some());
    }
    html! {
        section.card {
            table.rows.dense {
                thead { tr {
                    th { (t!("Lane")) } th { (t!("Next start")) } th.num { (t!("Queued")) } th.num { (t!("Running")) } th.num { (t!("Paused")) }
                    th.num { (t!("Failed")) } th.wide-only { "" } th.num { (t!("Ceiling")) } th.num { (t!("Gap")) } th {}
                } }
                tbody { @for lane in &found.lanes { tr {
                    td data-label=(t!("Lane")) { (parts::lane_link(&lane.key)) }
                    td data-label=(t!("Next start")) { (standing(lane, held, now)) }
                    @for state in [State::Queued, State::Running, State::Paused, State::Failed] {
                        td.num data-label=(parts::state_name(state)) { (tally(lane, state)) }
                    }
                    td.wide-only { (parts::share(&lane.counts)) }
                    td.num data-label=(t!("Ceiling")) { (ceiling(lane)) }
                    td.num data-label=(t!("Gap")) { (gap(lane)) }
                    td.end { (switch(person, lane, held, Pausing::Plain)) }
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
        return parts::empty(t!("Nothing matches among the lanes looked at so far: go on with “Further”."), None);
    }
    if params.only(NAMES).is_empty() {
        return parts::empty(t!("There are no lanes yet: a lane comes into being with its first task."), None);
    }
    parts::empty(t!("No lane matches these filters."), Some(("/lanes", t!("Show all lanes"))))
}
