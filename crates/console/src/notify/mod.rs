//! The room `notify`: what came in, who gets it, and whether it arrived.

mod alerts;
mod endpoints;
mod events;
mod notifications;
mod secret;
mod statistics;
mod subscriptions;

use axum::Router;
use axum::response::Redirect;
use axum::routing::{get, post};
use malla_notify::{Endpoint, SubscriptionState};
use malla_queue::{EventId, TaskId};
use maud::{Markup, html};

use crate::Console;
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;

pub(crate) const NOTIFICATIONS: &str = "/notify/notifications";
pub(crate) const EVENTS: &str = "/notify/events";
pub(crate) const SUBSCRIPTIONS: &str = "/notify/subscriptions";
pub(crate) const ENDPOINTS: &str = "/notify/endpoints";
const STATISTICS: &str = "/notify/statistics";
pub(crate) const ALERTS: &str = "/notify/alerts";
const NEW_ALERT: &str = "/notify/new-alert";
const NEW_SUBSCRIPTION: &str = "/notify/new-subscription";
const NEW_ENDPOINT: &str = "/notify/new-endpoint";

/// The pages of this room in the navigation.
pub(crate) const PAGES: &[(&str, Text)] = &[
    (NOTIFICATIONS, key!("Notifications")),
    (EVENTS, key!("Events")),
    (SUBSCRIPTIONS, key!("Subscriptions")),
    (ENDPOINTS, key!("Endpoints")),
    (STATISTICS, key!("Statistics")),
    (ALERTS, key!("Alerts")),
];

/// What an endpoint is called where nobody has made one yet.
const EXAMPLE: &str = "orders";

/// Rows of a list inside another page.
const LATEST: usize = 10;

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route("/notify", get(async || Redirect::to(NOTIFICATIONS)))
        .route(NOTIFICATIONS, get(notifications::list::show))
        .route("/notify/notifications/act", get(notifications::bulk::confirm).post(notifications::bulk::act))
        .route("/notify/notifications/{id}", get(notifications::detail::show))
        .route("/notify/notifications/{id}/act", post(notifications::act))
        .route("/notify/notifications.csv", get(notifications::list::csv))
        .route(EVENTS, get(events::list::show))
        .route("/notify/events.csv", get(events::list::csv))
        .route("/notify/subscriptions.csv", get(subscriptions::list::csv))
        .route("/notify/events/{id}", get(events::detail::show))
        .route(SUBSCRIPTIONS, get(subscriptions::list::show))
        .route(NEW_SUBSCRIPTION, get(subscriptions::new::show).post(subscriptions::new::create))
        .route(subscriptions::bulk::ACT, get(subscriptions::bulk::confirm).post(subscriptions::bulk::act))
        .route("/notify/subscriptions/{name}", get(subscriptions::detail::show).post(subscriptions::detail::change))
        .route("/notify/subscriptions/{name}/state", post(subscriptions::state::change))
        .route("/notify/subscriptions/{name}/delete", post(subscriptions::detail::delete))
        .route(ENDPOINTS, get(endpoints::list::show))
        .route("/notify/endpoints.csv", get(endpoints::list::csv))
        .route(NEW_ENDPOINT, get(endpoints::new::show).post(endpoints::new::create))
        .route("/notify/endpoints/{name}", get(endpoints::detail::show).post(endpoints::detail::change))
        .route("/notify/endpoints/{name}/try", post(endpoints::trial::send))
        .route("/notify/endpoints/{name}/delete", post(endpoints::detail::delete))
        .route(STATISTICS, get(statistics::show))
        .route("/notify/statistics.csv", get(statistics::csv))
        .route(ALERTS, get(alerts::list::show))
        .route("/notify/alerts.csv", get(alerts::list::csv))
        .route(NEW_ALERT, get(alerts::new::show).post(alerts::new::create))
        .route("/notify/alerts/{name}", get(alerts::detail::show).post(alerts::detail::change))
        .route("/notify/alerts/{name}/switch", post(alerts::detail::switch))
        .route("/notify/alerts/{name}/test", post(alerts::detail::test))
        .route("/notify/alerts/{name}/delete", post(alerts::detail::delete))
}

/// The page at `path`, if it is a live one of this room.
pub(crate) async fn live_page(
    console: &Console,
    person: &Person,
    path: &str,
    params: &Params,
) -> Option<Result<Page, Refusal>> {
    let inside = path.strip_prefix("/notify/")?;
    Some(match inside.split_once('/') {
        None => match path {
            NOTIFICATIONS => notifications::list::page(console, person, params).await,
            EVENTS => events::list::page(console, person, params).await,
            SUBSCRIPTIONS => subscriptions::list::page(console, person, params).await,
            STATISTICS => statistics::page(console, person, params).await,
            ALERTS => alerts::list::page(console, person, params).await,
            _ => return None,
        },
        Some(("notifications", id)) => notifications::detail::page(console, person, id).await,
        Some(("events", id)) => events::detail::page(console, person, id).await,
        Some(("subscriptions", name)) => subscriptions::detail::page(console, person, name).await,
        Some(("endpoints", name)) => endpoints::detail::page(console, person, name).await,
        Some(("alerts", name)) => alerts::detail::page(console, person, name).await,
        Some(_) => return None,
    })
}

pub(crate) fn notification_path(id: TaskId) -> String {
    format!("{NOTIFICATIONS}/{id}")
}

pub(crate) fn notification_link(id: TaskId) -> Markup {
    html! { a.id href=(notification_path(id)) { (id) } }
}

pub(crate) fn event_link(id: EventId) -> Markup {
    html! { a.id href={ (EVENTS) "/" (id) } { (id) } }
}

pub(crate) fn subscription_path(name: &str) -> String {
    format!("{SUBSCRIPTIONS}/{name}")
}

pub(crate) fn subscription_link(name: &str) -> Markup {
    html! { a href=(subscription_path(name)) { (name) } }
}

fn endpoint_path(name: &str) -> String {
    format!("{ENDPOINTS}/{name}")
}

pub(crate) fn endpoint_link(name: &str) -> Markup {
    html! { a href=(endpoint_path(name)) { (name) } }
}

/// A list that this page shows only the newest of.
fn all_of(name: &str, value: &str, list: &str) -> String {
    Params::from([(name, value)]).link(list)
}

pub(crate) fn state_badge(state: SubscriptionState) -> Markup {
    html! { span class={ "badge s-" (tone(state)) } { (state_name(state)) } }
}

/// The state of tasks whose colour it has.
fn tone(state: SubscriptionState) -> &'static str {
    match state {
        SubscriptionState::Active => "succeeded",
        SubscriptionState::Suspended => "paused",
        SubscriptionState::Disabled => "discarded",
    }
}

fn state_name(state: SubscriptionState) -> &'static str {
    match state {
        SubscriptionState::Active => t!("active"),
        SubscriptionState::Suspended => t!("suspended"),
        SubscriptionState::Disabled => t!("disabled", "subscription"),
    }
}

/// A line for a terminal that posts an event.
fn post_line(person: &Person, endpoint: &Endpoint) -> String {
    let token = if endpoint.options.token_sha256.is_some() { " -H \"Authorization: Bearer $TOKEN\"" } else { "" };
    line_to(person, token, &endpoint.name)
}

/// The same for an endpoint that is still to be made.
fn first_post(person: &Person) -> String {
    line_to(person, "", EXAMPLE)
}

fn line_to(person: &Person, token: &str, endpoint: &str) -> String {
    let body = "-H 'Content-Type: application/json' -d '{\"hello\":\"world\"}'";
    format!("curl{token} {body} {}/in/{endpoint}", person.server)
}

/// A line for a terminal that makes something over the API.
fn make_line(person: &Person, what: &str, body: &str) -> String {
    let token = "-H \"Authorization: Bearer $MALLA_TOKEN\" -H 'Content-Type: application/json'";
    format!("curl {token} -d '{body}' {}/api/v1/{what}", person.server)
}
