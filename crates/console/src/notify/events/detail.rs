//! One event: what came, and what became of it.

use axum::extract::{Path, State as Shared};
use malla_notify::{Event, NotificationFilter, NotificationPage};
use malla_queue::{EventId, UnixMs};
use maud::{Markup, html};

use super::super::{EVENTS, LATEST, NOTIFICATIONS, all_of, endpoint_link, notifications};
use crate::caller::Person;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, content, groups, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str) -> Result<Page, Refusal> {
    let id: EventId = id.parse().map_err(|_| Refusal::not_found(&say!("Event {id}", id)))?;
    let scope = person.principal.scope();
    let of_event = NotificationFilter { event: Some(id), ..NotificationFilter::all(scope.clone()) };
    let (event, found) =
        tokio::try_join!(console.notify.event(&scope, id), console.notify.notifications(&of_event, None, LATEST),)?;
    let group = groups::names(console, [event.group].into_iter()).await?.into_values().next();
    let now = console.now();
    Ok(Page::new(EVENTS, say!("Event {id}", id))
        .up(EVENTS, t!("Events"))
        .lead(html! { (rich!("Received {} at {}", words::time(now, id.received_at()), endpoint_link(&event.endpoint_name))) })
        .live("notifications", deliveries(person, now, id, &found))
        .still(html! {
            div.columns.side-facts {
                div { (body(&event)) (content::headers(&event.content.headers)) }
                (facts(&event, group.as_deref()))
            }
        })
        .still(by_hand(person, id)))
}

fn deliveries(person: &Person, now: UnixMs, id: EventId, found: &NotificationPage) -> Markup {
    let every = all_of("event", &id.to_string(), NOTIFICATIONS);
    html! {
        section.card {
            div.card-head {
                h2 { (t!("Notifications")) }
                @if found.next.is_some() { a href=(every) { (t!("All notifications of this event")) } }
            }
            @if found.notifications.is_empty() {
                p.quiet { (t!("No subscription wanted it: there was none, or their filters did not match.")) }
            } @else {
                (notifications::table(person, now, &found.notifications, notifications::Columns::OfEvent))
            }
        }
    }
}

fn facts(event: &Event, group: Option<&str>) -> Markup {
    let came = &event.content;
    html! {
        section.card.facts-card {
            div.card-head { h2 { (t!("Facts")) } }
            dl.facts {
                dt { (t!("Received")) } dd { (words::full(event.received_at())) }
                dt { (t!("Endpoint")) } dd { (endpoint_link(&event.endpoint_name)) }
                @match (&event.kind, &came.topic) {
                    (Some(kind), _) => { dt { (t!("Kind")) } dd { code { (kind) } } },
                    (None, Some(topic)) => { dt { (t!("Topic")) } dd { code { (topic) } } },
                    (None, None) => { dt { (t!("Method")) } dd { (came.method) } },
                }
                dt { (t!("Content type")) } dd { (came.content_type.as_deref().unwrap_or("–")) }
                @if let Some(query) = &came.query { dt { (t!("Query")) } dd { code { (query) } } }
                dt { (t!("Size")) } dd { (words::bytes(came.body.len())) }
                dt { (t!("Group")) } dd { (group.unwrap_or("–")) }
            }
        }
    }
}

fn body(event: &Event) -> Markup {
    let raw = format!("/api/v1/events/{}/body", event.id);
    html! {
        section.card {
            div.card-head {
                h2 { (t!("Body")) }
                @if !event.content.body.is_empty() { a href=(raw) download { (t!("Download it as it came")) } }
            }
            (content::show(&event.content.body))
        }
    }
}

fn by_hand(person: &Person, id: EventId) -> Markup {
    let line = format!("curl -H \"Authorization: Bearer $MALLA_TOKEN\" {}/api/v1/events/{id}", person.server);
    html! { section.card { div.card-head { h2 { (t!("The same from a terminal")) } } (parts::command_line(&line)) } }
}
