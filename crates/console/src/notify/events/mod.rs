//! Events: the list and one of them.

pub(crate) mod detail;
pub(crate) mod list;

use malla_notify::EventSummary;
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::{endpoint_link, event_link};
use crate::words;

/// Events as rows; `endpoints` says where they came in.
pub(super) fn table(now: UnixMs, events: &[EventSummary], endpoints: bool) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { (t!("Event")) } @if endpoints { th { (t!("Endpoint")) } } th { (t!("Received")) } th { (t!("What")) } th { (t!("Content type")) }
                th.num { (t!("Size")) }
            } }
            tbody { @for event in events { tr {
                td data-label=(t!("Event")) { (event_link(event.id)) }
                @if endpoints { td data-label=(t!("Endpoint")) { (endpoint_link(&event.endpoint)) } }
                td data-label=(t!("Received")) { (words::time(now, event.id.received_at())) }
                td data-label=(t!("What")) { (what(event)) }
                td data-label=(t!("Content type")) {
                    @match &event.content_type { Some(kind) => (kind), None => span.quiet { "–" } }
                }
                td.num data-label=(t!("Size")) { (words::bytes(usize::try_from(event.bytes).unwrap_or(usize::MAX))) }
            } } }
        }
    }
}

/// Its kind if it is Malla's own, its topic if it came over MQTT, else its method.
fn what(event: &EventSummary) -> Markup {
    html! { code { (event.kind.as_deref().or(event.topic.as_deref()).unwrap_or(&event.method)) } }
}
