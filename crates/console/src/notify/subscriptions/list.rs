//! The list of subscriptions, in the order of their names.

use axum::extract::State as Shared;
use axum::response::Response;
use futures_util::future::try_join_all;
use malla_access::Permission;
use malla_notify::Subscription;
use malla_queue::{Error, Scope, State, StateCounts};
use maud::{Markup, html};

use super::super::{
    EXAMPLE, NEW_SUBSCRIPTION, NOTIFICATIONS, SUBSCRIPTIONS, endpoint_link, make_line, state_badge, subscription_link,
};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts};

const ROWS: usize = 50;
/// On their way, or held, or still to be confirmed.
const WAITING: [State; 4] = [State::Queued, State::Running, State::Paused, State::Notified];

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let scope = person.principal.scope();
    let (endpoint, after) = (params.get("endpoint"), params.get("cursor"));
    let mut found = console.notify.subscriptions(&scope, endpoint, after, ROWS + 1).await?;
    let more = found.len() > ROWS;
    found.truncate(ROWS);
    let next = found.last().filter(|_| more).map(|one| one.name.clone());
    let counts = try_join_all(found.iter().map(|one| counts(console, &scope, one))).await?;
    let rows: Vec<(&Subscription, StateCounts)> = found.iter().zip(counts).collect();
    let links = params.only(&["endpoint", "cursor"]);
    Ok(Page::new(SUBSCRIPTIONS, t!("Subscriptions"))
        .lead(html! { (t!("Who gets the events of an endpoint, and how.")) })
        .csv(params.only(&["endpoint"]).link("/notify/subscriptions.csv"))
        .api(person, &params.only(&["endpoint"]).link("/api/v1/subscriptions"))
        .still(head(person, params))
        .live("subscriptions", table(person, params, &rows))
        .still(parts::pager(SUBSCRIPTIONS, &links, next, (t!("First"), t!("Further")))))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>, params: Params) -> Response {
    const COLUMNS: [&str; 5] = ["subscription", "state", "endpoint", "target", "created_at"];
    let (scope, endpoint) = (visitor.principal.scope(), params.get("endpoint").map(str::to_owned));
    export::csv("subscriptions", &COLUMNS, move |after: Option<String>, most| {
        let (console, scope, endpoint) = (console.clone(), scope.clone(), endpoint.clone());
        async move {
            let found = console.notify.subscriptions(&scope, endpoint.as_deref(), after.as_deref(), most).await?;
            let next = found.last().map(|one| one.name.clone()).filter(|_| found.len() == most);
            Ok((found.iter().map(cells).collect(), next))
        }
    })
}

fn cells(one: &Subscription) -> Vec<String> {
    vec![
        one.name.clone(),
        one.state.name().to_owned(),
        one.endpoint_name.clone(),
        one.spec.target.masked(),
        export::moment(Some(one.created_at)),
    ]
}

/// How many of its notifications are in each state: its lane counts them.
pub(super) async fn counts(console: &Console, scope: &Scope, one: &Subscription) -> Result<StateCounts, Refusal> {
    match console.queue.lane(scope, &one.lane()).await {
        Ok(lane) => Ok(lane.counts),
        Err(Error::NotFound(_)) => Ok(StateCounts::default()),
        Err(error) => Err(error.into()),
    }
}

fn head(person: &Person, params: &Params) -> Markup {
    let new = params.only(&["endpoint"]).link(NEW_SUBSCRIPTION);
    html! {
        form.filters method="get" action=(SUBSCRIPTIONS) role="search" {
            (parts::text_filter(params, t!("Endpoint"), "endpoint", EXAMPLE))
            div.buttons {
                button { (t!("Filter")) }
                @if params.get("endpoint").is_some() { a.button.plain href=(SUBSCRIPTIONS) { (t!("Clear")) } }
            }
            @if person.may(Permission::Change) {
                div.buttons.push { a.button.primary href=(new) { (t!("New subscription")) } }
            }
        }
    }
}

fn table(person: &Person, params: &Params, rows: &[(&Subscription, StateCounts)]) -> Markup {
    if rows.is_empty() {
        return nothing(person, params);
    }
    html! {
        section.card {
            table.rows {
                thead { tr {
                    th { (t!("Subscription")) } th { (t!("State")) } th { (t!("Endpoint")) } th { (t!("Target")) } th.num { (t!("Waiting")) }
                    th.num { (t!("Failed")) } th.num { (t!("Delivered")) }
                } }
                tbody { @for (one, counts) in rows { tr {
                    td data-label=(t!("Subscription")) { (subscription_link(&one.name)) }
                    td data-label=(t!("State")) { (state_badge(one.state)) }
                    td data-label=(t!("Endpoint")) { (endpoint_link(&one.endpoint_name)) }
                    td data-label=(t!("Target")) { (one.spec.target.masked()) }
                    td.num data-label=(t!("Waiting")) { (tally(one, counts, &WAITING)) }
                    td.num data-label=(t!("Failed")) { (tally(one, counts, &[State::Failed])) }
                    td.num data-label=(t!("Delivered")) { (tally(one, counts, &[State::Succeeded])) }
                } } }
            }
        }
    }
}

fn tally(one: &Subscription, counts: &StateCounts, states: &[State]) -> Markup {
    let own = form_urlencoded::Serializer::new(String::new())
        .append_pair("subscription", &one.name)
        .extend_pairs(states.iter().map(|state| ("state", state.name())))
        .finish();
    let n = states.iter().map(|state| counts.of(*state)).sum();
    parts::tally(n, &format!("{NOTIFICATIONS}?{own}"))
}

fn nothing(person: &Person, params: &Params) -> Markup {
    if params.get("endpoint").is_some() {
        let all = Some((SUBSCRIPTIONS, t!("Show all subscriptions")));
        return parts::empty(t!("No subscription to this endpoint."), all);
    }
    if !person.may(Permission::Change) {
        return parts::empty(t!("There are no subscriptions yet. Those of your groups will be shown here."), None);
    }
    let body = format!(r#"{{"name":"shop","endpoint":"{EXAMPLE}","target":"https://example.org/hook"}}"#);
    html! {
        div.empty {
            p { (t!("There are no subscriptions yet. Make one here, or from a terminal:")) }
            p { a.button href=(NEW_SUBSCRIPTION) { (t!("New subscription")) } }
            (parts::command_line(&make_line(person, "subscriptions", &body)))
        }
    }
}
