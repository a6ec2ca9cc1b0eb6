//! The list of subscriptions, in the order of their names.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::future::try_join_all;
use malla_access::Permission;
use malla_notify::{Subscription, SubscriptionState};
use malla_queue::{Error, Scope, State, StateCounts};
use maud::{Markup, html};

use super::super::{
    EXAMPLE, NEW_SUBSCRIPTION, NOTIFICATIONS, SUBSCRIPTIONS, endpoint_link, make_line, state_badge, state_name,
    subscription_link, tone,
};
use super::bulk;
use super::filter::{NAMES, Wanted};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{PATIENCE, ROWS};
use crate::many::WORK_MAX;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts};

/// On their way, or held, or still to be confirmed.
pub(super) const WAITING: [State; 4] = [State::Queued, State::Running, State::Paused, State::Notified];

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let scope = person.principal.scope();
    let page = Page::new(SUBSCRIPTIONS, t!("Subscriptions"))
        .lead(html! { (t!("Who gets the events of an endpoint, and how.")) });
    let wanted = match Wanted::read(params) {
        Ok(wanted) => wanted,
        Err(Refusal::Sentence { status: StatusCode::BAD_REQUEST, sentence }) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
        Err(other) => return Err(other),
    };
    let found = wanted.find(console, &scope, params.get("cursor").map(str::to_owned), ROWS, PATIENCE).await?;
    let counts = try_join_all(found.subscriptions.iter().map(|one| counts(console, &scope, one))).await?;
    let rows: Vec<(&Subscription, StateCounts)> = found.subscriptions.iter().zip(counts).collect();
    let links = params.only(&["endpoint", "state", "search", "cursor"]);
    let more = found.next.is_some();
    Ok(page
        .csv(wanted.params.link("/notify/subscriptions.csv"))
        .api(person, &params.only(&["endpoint"]).link("/api/v1/subscriptions"))
        .still(chips(&wanted))
        .still(filters(params))
        .still(bulk::bar(person, &wanted))
        .live("subscriptions", table(person, &wanted, &rows, more))
        .still(parts::pager(SUBSCRIPTIONS, &links, found.next, (t!("First"), t!("Further")))))
}

fn chips(wanted: &Wanted) -> Markup {
    let all = wanted.params.without("state");
    html! {
        nav.chips aria-label=(t!("States")) {
            a.chip href=(all.link(SUBSCRIPTIONS)) aria-current=[wanted.state.is_none().then_some("true")] {
                (t!("all"))
            }
            @for state in SubscriptionState::ALL {
                a.chip href=(all.with("state", state.name()).link(SUBSCRIPTIONS))
                    aria-current=[(wanted.state == Some(state)).then_some("true")] {
                    span class={ "dot s-" (tone(state)) } {} (state_name(state))
                }
            }
        }
    }
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 5] = ["subscription", "state", "endpoint", "target", "created_at"];
    let (scope, wanted) = (visitor.principal.scope(), Wanted::read(&params)?);
    Ok(export::csv("subscriptions", &COLUMNS, move |after: Option<String>, most| {
        let (console, scope, wanted) = (console.clone(), scope.clone(), wanted.clone());
        async move {
            let found = wanted.find(&console, &scope, after, most, WORK_MAX).await?;
            Ok((found.subscriptions.iter().map(cells).collect(), found.next))
        }
    }))
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

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action=(SUBSCRIPTIONS) role="search" {
            @if let Some(state) = params.get("state") { input type="hidden" name="state" value=(state); }
            label.wide { span.label { (t!("Search")) }
                input type="search" name="search" value=(params.typed("search")) placeholder=(t!("part of a name or target")); }
            (parts::text_filter(params, t!("Endpoint"), "endpoint", EXAMPLE))
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).without("state").is_empty() {
                    a.button.plain href=(params.only(&["state"]).link(SUBSCRIPTIONS)) { (t!("Clear")) }
                }
            }
        }
    }
}

fn table(person: &Person, wanted: &Wanted, rows: &[(&Subscription, StateCounts)], more: bool) -> Markup {
    if rows.is_empty() {
        return nothing(person, wanted, more);
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

fn nothing(person: &Person, wanted: &Wanted, more: bool) -> Markup {
    if more {
        let sentence = t!("Nothing matches among the subscriptions looked at so far: go on with “Further”.");
        return parts::empty(sentence, None);
    }
    if !wanted.params.is_empty() {
        let all = Some((SUBSCRIPTIONS, t!("Show all subscriptions")));
        return parts::empty(t!("No subscription matches these filters."), all);
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
