//! The list of events, newest first, with its filters in the address.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_access::Permission;
use malla_notify::{EventFilter, EventSummary};
use malla_queue::EventId;
use maud::{Markup, html};
use tokio::time::Instant;

use super::super::{ENDPOINTS, EVENTS};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::PATIENCE;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts};

const NAMES: &[&str] = &["content", "endpoint", "from", "to"];
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
    let page = Page::new(EVENTS, t!("Events")).lead(html! { (t!("What came in, kept byte for byte.")) });
    let (filter, below) = match read(person, params) {
        Ok(read) => read,
        Err(Refusal::Sentence { status: StatusCode::BAD_REQUEST, sentence }) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
        Err(other) => return Err(other),
    };
    let (events, next) = find(console, &filter, below).await?;
    let links = params.only(NAMES);
    let links = params.get("cursor").map_or(links.clone(), |cursor| links.with("cursor", cursor));
    let rows = rows(console, person, params, &events, next.is_some());
    let pager = parts::pager(EVENTS, &links, next.map(|id| id.to_string()), (t!("Newest"), t!("Older")));
    let asked = params.only(NAMES);
    let page =
        page.csv(asked.link("/notify/events.csv")).api(person, &asked.link("/api/v1/events")).still(filters(params));
    // Older pages stay as they are: nothing is added to them.
    Ok(if below.is_none() { page.live("events", rows).live("pager", pager) } else { page.still(rows).still(pager) })
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 8] = ["event", "endpoint", "received_at", "kind", "topic", "method", "content_type", "bytes"];
    let (filter, _) = read(&visitor, &params)?;
    Ok(export::csv("events", &COLUMNS, move |below, most| {
        let (console, filter) = (console.clone(), filter.clone());
        async move {
            let page = console.notify.events(&filter, below, most).await?;
            Ok((page.events.iter().map(cells).collect(), page.next))
        }
    }))
}

fn cells(event: &EventSummary) -> Vec<String> {
    vec![
        event.id.to_string(),
        event.endpoint.clone(),
        export::moment(Some(event.id.received_at())),
        event.kind.clone().unwrap_or_default(),
        event.topic.clone().unwrap_or_default(),
        event.method.clone(),
        event.content_type.clone().unwrap_or_default(),
        event.bytes.to_string(),
    ]
}

fn read(person: &Person, params: &Params) -> Result<(EventFilter, Option<EventId>), Refusal> {
    let filter = EventFilter {
        scope: person.principal.scope(),
        endpoint: params.get("endpoint").map(str::to_owned),
        content: params.get("content").map(str::to_owned),
        from: params.time("from")?,
        to: params.time("to")?,
    };
    Ok((filter, params.get("cursor").map(str::parse).transpose()?))
}

async fn find(
    console: &Console,
    filter: &EventFilter,
    below: Option<EventId>,
) -> Result<(Vec<EventSummary>, Option<EventId>), Refusal> {
    let (mut events, mut next) = (Vec::new(), below);
    let began = Instant::now();
    for _ in 0..STEPS_MAX {
        let page = console.notify.events(filter, next, ROWS - events.len()).await?;
        events.extend(page.events);
        next = page.next;
        if next.is_none() || events.len() >= ROWS || began.elapsed() >= PATIENCE {
            break;
        }
    }
    Ok((events, next))
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action=(EVENTS) role="search" {
            label.wide { span.label { (t!("Content")) }
                input type="search" name="content" value=(params.typed("content")) placeholder=(t!("a word or id in the body")); }
            (parts::text_filter(params, t!("Endpoint"), "endpoint", "orders"))
            (parts::time_filter(params, t!("From (UTC)"), "from"))
            (parts::time_filter(params, t!("To (UTC)"), "to"))
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).is_empty() { a.button.plain href=(EVENTS) { (t!("Clear")) } }
            }
        }
    }
}

fn rows(console: &Console, person: &Person, params: &Params, events: &[EventSummary], more: bool) -> Markup {
    if !events.is_empty() {
        return html! { section.card { (super::table(console.now(), events, true)) } };
    }
    if more {
        return parts::empty(t!("Nothing matches among the events looked at so far: go on with “Older”."), None);
    }
    if !params.only(NAMES).is_empty() {
        return parts::empty(t!("No event matches these filters."), Some((EVENTS, t!("Show all events"))));
    }
    if !person.may(Permission::Change) {
        return parts::empty(t!("Nothing has come in yet."), None);
    }
    html! {
        div.empty {
            p { (t!("Nothing has come in yet. Make an endpoint, then post a first event to it:")) }
            (parts::command_line(&super::super::first_post(person)))
            p { a.button href=(ENDPOINTS) { (t!("Go to the endpoints")) } }
        }
    }
}
