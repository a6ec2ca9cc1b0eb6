//! The list of notifications, newest first, with its filters in the address.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_access::Permission;
use malla_notify::{Notification, NotificationPage, PageMark};
use malla_queue::{State, StateCounts, TaskId};
use maud::{Markup, html};
use tokio::time::Instant;

use super::super::{EXAMPLE, NEW_ENDPOINT, NEW_SUBSCRIPTION, NOTIFICATIONS, first_post, make_line};
use super::filter::{NAMES, Wanted};
use super::{Columns, VERBS, table, verb_name};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::PATIENCE;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts, words};

const ROWS: usize = 50;
/// A filter that matches little is answered in steps; this many are taken for one page, if they take no longer than
/// [`PATIENCE`].
const STEPS_MAX: usize = 8;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new(NOTIFICATIONS, t!("Notifications"))
        .lead(html! { (t!("One event on its way to one subscription: did it arrive, and if not, why?")) });
    let (wanted, below) = match read(person, params) {
        Ok(read) => read,
        Err(Refusal::Sentence { status: StatusCode::BAD_REQUEST, sentence }) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
        Err(other) => return Err(other),
    };
    let (counts, found) = tokio::try_join!(wanted.counts(console), find(console, &wanted, below))?;
    let links = wanted.params.clone();
    let links = params.get("cursor").map_or(links.clone(), |cursor| links.with("cursor", cursor));
    let next = found.next.map(write_mark);
    let pager = parts::pager(NOTIFICATIONS, &links, next, (t!("Newest"), t!("Older")));
    let rows = rows(console, person, &wanted, &found);
    let page = page
        .csv(wanted.params.link("/notify/notifications.csv"))
        .api(person, &wanted.params.link("/api/v1/notifications"));
    let page =
        page.live("chips", chips(&wanted, counts.as_ref())).still(filters(params)).still(bulk_bar(person, &wanted));
    // Older pages stay as they are.
    Ok(if below.is_none() {
        page.live("rows", rows).live("pager", pager)
    } else {
        page.still(rows).still(pager).at_rest()
    })
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 9] =
        ["notification", "state", "event", "endpoint", "subscription", "made_at", "failures", "run_at", "finished_at"];
    let filter = Wanted::read(&visitor, &params)?.filter;
    Ok(export::csv("notifications", &COLUMNS, move |below, most| {
        let (console, filter) = (console.clone(), filter.clone());
        async move {
            let page = console.notify.notifications(&filter, below, most).await?;
            Ok((page.notifications.iter().map(cells).collect(), page.next))
        }
    }))
}

fn cells(one: &Notification) -> Vec<String> {
    vec![
        one.id.to_string(),
        one.state.name().to_owned(),
        one.event.to_string(),
        one.endpoint.clone(),
        one.subscription.clone(),
        export::moment(Some(one.id.submitted_at())),
        one.failures.to_string(),
        export::moment(one.run_at),
        export::moment(one.finished_at),
    ]
}

fn read(person: &Person, params: &Params) -> Result<(Wanted, Option<PageMark>), Refusal> {
    Ok((Wanted::read(person, params)?, read_mark(params)?))
}

/// A mark looks like the id it is a number of.
pub(super) fn write_mark(PageMark(number): PageMark) -> String {
    TaskId(number).to_string()
}

pub(super) fn read_mark(params: &Params) -> Result<Option<PageMark>, Refusal> {
    let mark = params.get("cursor").map(str::parse).transpose()?;
    Ok(mark.map(|TaskId(number)| PageMark(number)))
}

async fn find(console: &Console, wanted: &Wanted, below: Option<PageMark>) -> Result<NotificationPage, Refusal> {
    let mut found = NotificationPage { notifications: Vec::new(), next: below };
    let began = Instant::now();
    for _ in 0..STEPS_MAX {
        let room = ROWS - found.notifications.len();
        let page = console.notify.notifications(&wanted.filter, found.next, room).await?;
        found.notifications.extend(page.notifications);
        found.next = page.next;
        if found.next.is_none() || found.notifications.len() >= ROWS || began.elapsed() >= PATIENCE {
            break;
        }
    }
    Ok(found)
}

fn chips(wanted: &Wanted, counts: Option<&StateCounts>) -> Markup {
    let chosen = &wanted.filter.states;
    let all = wanted.params.without("state");
    html! {
        nav.chips aria-label=(t!("States")) {
            a.chip href=(all.link(NOTIFICATIONS)) aria-current=[chosen.is_empty().then_some("true")] {
                (t!("all")) @if let Some(counts) = counts { span.n { (words::count(counts.total())) } }
            }
            @for state in State::ALL {
                a.chip href=(all.with("state", state.name()).link(NOTIFICATIONS))
                    aria-current=[chosen.contains(&state).then_some("true")] {
                    span class={ "dot s-" (state) } {}
                    (parts::state_name(state))
                    @if let Some(counts) = counts { span.n { (words::count(counts.of(state))) } }
                }
            }
        }
    }
}

fn filters(params: &Params) -> Markup {
    let active = !params.only(NAMES).without("state").is_empty();
    html! {
        form.filters method="get" action=(NOTIFICATIONS) role="search" {
            @for state in params.all("state") { input type="hidden" name="state" value=(state); }
            label.wide { span.label { (t!("Content")) }
                input type="search" name="content" value=(params.typed("content")) placeholder=(t!("a word or id in the body")); }
            (parts::text_filter(params, t!("Subscription"), "subscription", ""))
            (parts::text_filter(params, t!("Endpoint"), "endpoint", EXAMPLE))
            @if params.get("event").is_some() { (parts::text_filter(params, t!("Event"), "event", t!("event id"))) }
            (parts::time_filter(params, t!("From (UTC)"), "from"))
            (parts::time_filter(params, t!("To (UTC)"), "to"))
            div.buttons {
                button { (t!("Filter")) }
                @if active { a.button.plain href=(params.only(&["state"]).link(NOTIFICATIONS)) { (t!("Clear")) } }
            }
        }
    }
}

/// What can be done to all that match; each leads to a page that asks once more.
fn bulk_bar(person: &Person, wanted: &Wanted) -> Markup {
    let verbs = VERBS.into_iter().filter(|verb| !wanted.states_for(*verb).is_empty());
    html! {
        @if person.may(Permission::Change) {
            div.bulk {
                span.quiet { (t!("All that match:")) }
                @for verb in verbs {
                    a.button.small href=(wanted.params.with("verb", verb.name()).link("/notify/notifications/act")) {
                        (verb_name(verb)) "…"
                    }
                }
            }
        }
    }
}

fn rows(console: &Console, person: &Person, wanted: &Wanted, found: &NotificationPage) -> Markup {
    if found.notifications.is_empty() {
        return nothing(person, wanted, found.next.is_some());
    }
    html! { section.card { (table(person, console.now(), &found.notifications, Columns::All)) } }
}

fn nothing(person: &Person, wanted: &Wanted, more: bool) -> Markup {
    if more {
        return parts::empty(t!("Nothing matches among the notifications looked at so far: go on with “Older”."), None);
    }
    if !wanted.params.is_empty() {
        let next = Some((NOTIFICATIONS, t!("Show all notifications")));
        return parts::empty(t!("No notification matches these filters."), next);
    }
    if !person.may(Permission::Change) {
        return parts::empty(t!("There are no notifications yet."), None);
    }
    let subscription = format!(r#"{{"name":"shop","endpoint":"{EXAMPLE}","target":"https://example.org/hook"}}"#);
    html! {
        div.empty {
            p {
                @let one = html! { a href=(NEW_ENDPOINT) { (t!("endpoint")) } };
                @let other = html! { a href=(NEW_SUBSCRIPTION) { (t!("subscription")) } };
                (rich!("There are no notifications yet. Make an {} and a {} to it here, or from a terminal, and post a first event:", one, other))
            }
            (parts::command_line(&make_line(person, "endpoints", &format!(r#"{{"name":"{EXAMPLE}"}}"#))))
            (parts::command_line(&make_line(person, "subscriptions", &subscription)))
            (parts::command_line(&first_post(person)))
        }
    }
}
