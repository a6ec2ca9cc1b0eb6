//! The tours of a kind, newest first, filtered by their state and by a word of what they are about.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::tour::{Tour, TourId, TourKind, TourState};
use malla_queue::{GroupId, Scope};
use maud::{Markup, html};

use super::{Nothing, nothing_of, noun, place, state_name, tone};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::{Console, export, groups, parts};

const ROWS: usize = 50;
/// Tours that are looked at in one step, and steps for one page: a filter that matches little goes on with "Older".
const STEP: usize = 200;
const STEPS_MAX: usize = 8;
/// The fields of the filters.
pub(super) const NAMES: &[&str] = &["state", "search"];

/// Which tours somebody wants to see.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) kind: TourKind,
    pub(super) state: Option<TourState>,
    search: Option<String>,
    /// The filters alone, for links.
    pub(super) params: Params,
}

impl Wanted {
    pub(super) fn read(kind: TourKind, params: &Params) -> Result<Self, Refusal> {
        let named = |name: &str| TourState::ALL.into_iter().find(|state| state.name() == name);
        let wrong = |name: &str| {
            Refusal::bad(say!("\"{name}\" is not a state: running, paused, done, cancelled or failed", name))
        };
        let state = params.get("state").map(|name| named(name).ok_or_else(|| wrong(name))).transpose()?;
        let search = params.get("search").map(str::to_lowercase);
        Ok(Self { kind, state, search, params: params.only(NAMES) })
    }

    fn fits(&self, tour: &Tour) -> bool {
        let holds =
            |search: &String| tour.spec.to_lowercase().contains(search.as_str()) || tour.id.to_string() == *search;
        self.state.is_none_or(|state| tour.state == state) && self.search.as_ref().is_none_or(holds)
    }
}

pub(super) struct Found {
    pub(super) tours: Vec<Tour>,
    /// Where the older ones begin.
    pub(super) next: Option<TourId>,
}

/// At most `rows` that fit, below a place, after a bounded look.
pub(super) async fn find(
    console: &Console,
    scope: &Scope,
    wanted: &Wanted,
    below: Option<TourId>,
    rows: usize,
) -> malla_queue::Result<Found> {
    let mut found = Found { tours: Vec::new(), next: below };
    for _ in 0..STEPS_MAX {
        let step = console.tours.tours(scope, wanted.kind, found.next, STEP).await?;
        let whole = step.len() == STEP;
        found.next = step.last().map(|tour| tour.id).filter(|_| whole);
        let fitting: Vec<Tour> = step.into_iter().filter(|tour| wanted.fits(tour)).collect();
        found.tours.extend(fitting);
        if found.tours.len() > rows {
            found.tours.truncate(rows);
            found.next = found.tours.last().map(|tour| tour.id);
        }
        if found.next.is_none() || found.tours.len() >= rows {
            break;
        }
    }
    Ok(found)
}

/// What a kind's list has of its own.
pub(super) struct List {
    pub(super) kind: TourKind,
    pub(super) title: &'static str,
    pub(super) lead: &'static str,
    /// The form for a new one, and what its button says.
    pub(super) new: (&'static str, &'static str),
    pub(super) api: &'static str,
    pub(super) csv: &'static str,
    pub(super) table: fn(now: malla_queue::UnixMs, tours: &[Tour], groups: &HashMap<GroupId, String>) -> Markup,
}

impl List {
    pub(super) async fn page(&self, console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
        let page = Page::new(place(self.kind), self.title).lead(html! { (self.lead) });
        let wanted = match Wanted::read(self.kind, params) {
            Ok(wanted) => wanted,
            Err(Refusal::Sentence { status: StatusCode::BAD_REQUEST, sentence }) => {
                let error = parts::error_line(Some(&sentence));
                return Ok(page.status(StatusCode::BAD_REQUEST).still(self.filters(params)).still(error));
            }
            Err(other) => return Err(other),
        };
        let below = params.get("cursor").map(str::parse).transpose()?;
        let found = find(console, &person.principal.scope(), &wanted, below, ROWS).await?;
        let names = groups::names(console, found.tours.iter().map(|tour| tour.group)).await?;
        let links = params.only(&["state", "search", "cursor"]);
        let next = found.next.map(|id| id.to_string());
        let pager = parts::pager(place(self.kind), &links, next, (t!("Newest"), t!("Older")));
        let rows = match found.tours.is_empty() {
            true => self.nothing(person, &wanted, found.next.is_some()),
            false => html! { section.card { ((self.table)(console.now(), &found.tours, &names)) } },
        };
        Ok(page
            .csv(wanted.params.link(self.csv))
            .api(person, self.api)
            .still(self.chips(&wanted))
            .still(self.filters(params))
            .still(self.bar(person, &wanted))
            .live("tours", rows)
            .live("pager", pager))
    }

    fn chips(&self, wanted: &Wanted) -> Markup {
        let (all, path) = (wanted.params.without("state"), place(self.kind));
        html! {
            nav.chips aria-label=(t!("States")) {
                a.chip href=(all.link(path)) aria-current=[wanted.state.is_none().then_some("true")] { (t!("all")) }
                @for state in TourState::ALL {
                    a.chip href=(all.with("state", state.name()).link(path))
                        aria-current=[(wanted.state == Some(state)).then_some("true")] {
                        span class={ "dot s-" (tone(state)) } {} (state_name(state))
                    }
                }
            }
        }
    }

    fn filters(&self, params: &Params) -> Markup {
        html! {
            form.filters method="get" action=(place(self.kind)) role="search" {
                @if let Some(state) = params.get("state") { input type="hidden" name="state" value=(state); }
                label.wide { span.label { (t!("Search")) }
                    input type="search" name="search" value=(params.typed("search")) placeholder=(t!("part of an address")); }
                div.buttons {
                    button { (t!("Filter")) }
                    @if params.get("search").is_some() {
                        a.button.plain href=(params.only(&["state"]).link(place(self.kind))) { (t!("Clear")) }
                    }
                }
            }
        }
    }

    /// What can be done to all that match, and the way to a new one.
    fn bar(&self, person: &Person, wanted: &Wanted) -> Markup {
        let (path, text) = self.new;
        html! {
            @if person.may(Permission::Change) {
                div.bulk {
                    @let verbs = super::act::Verb::of_many(wanted.state);
                    @if !verbs.is_empty() { span.quiet { (t!("All that match:")) } }
                    @for verb in verbs {
                        a.button.small href=(wanted.params.with("verb", verb.name()).link(&format!("{}/act", place(self.kind)))) {
                            (verb.told()) "…"
                        }
                    }
                    a.button.primary.push href=(path) { (text) }
                }
            }
        }
    }

    fn nothing(&self, person: &Person, wanted: &Wanted, more: bool) -> Markup {
        if more {
            return parts::empty(t!("Nothing matches among those looked at so far: go on with “Older”."), None);
        }
        if !wanted.params.is_empty() {
            let sentence = say!("None of the {} matches these filters.", noun(self.kind).many.get());
            return parts::empty(&sentence, Some((place(self.kind), t!("Show all"))));
        }
        let Nothing { sentence, for_readers, command } = nothing_of(self.kind);
        match person.may(Permission::Change) {
            true => parts::empty_with_command(sentence.get(), command),
            false => parts::empty(for_readers.get(), None),
        }
    }
}

/// All that fit as a file.
pub(super) fn csv(
    console: Console,
    person: &Person,
    wanted: Wanted,
    name: &str,
    columns: &[&str],
    cells: fn(&Tour, &str) -> Vec<String>,
) -> Response {
    let (scope, wanted) = (person.principal.scope(), Arc::new(wanted));
    export::csv(name, columns, move |below, most| {
        let (console, scope, wanted) = (console.clone(), scope.clone(), wanted.clone());
        async move {
            let found = find(&console, &scope, &wanted, below, most).await?;
            let ids: Vec<GroupId> = found.tours.iter().filter_map(|tour| tour.group).collect();
            let names = console.access.group_names(&ids).await?;
            let group = |tour: &Tour| tour.group.and_then(|id| names.get(&id)).map_or("", String::as_str);
            Ok((found.tours.iter().map(|tour| cells(tour, group(tour))).collect(), found.next))
        }
    })
}
