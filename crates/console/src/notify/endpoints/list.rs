//! The list of endpoints, in the order of their names.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_notify::Endpoint;
use malla_queue::GroupId;
use maud::{Markup, html};

use super::super::{ENDPOINTS, NEW_ENDPOINT, SUBSCRIPTIONS, all_of, endpoint_link, first_post, make_line};
use super::{address, asks_for};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, parts, words};

const ROWS: usize = 50;
/// In a house with more subscriptions than this, they are not counted here.
const COUNTED_MAX: usize = 1_000;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    let person: &Person = &visitor;
    let mut endpoints = console.notify.endpoints(&person.principal.scope(), params.get("cursor"), ROWS + 1).await?;
    let more = endpoints.len() > ROWS;
    endpoints.truncate(ROWS);
    let next = endpoints.last().filter(|_| more).map(|endpoint| endpoint.name.clone());
    let names = groups::names(&console, endpoints.iter().map(|endpoint| endpoint.group)).await?;
    let counts = subscriptions(&console, person).await?;
    let lonely = endpoints.iter().all(Endpoint::is_system) && params.get("cursor").is_none();
    Ok(Page::new(ENDPOINTS, t!("Endpoints"))
        .lead(html! { (t!("Where events come in: an application posts an event and forgets it.")) })
        .csv("/notify/endpoints.csv".to_owned())
        .api(person, "/api/v1/endpoints")
        .still(html! {
            @if person.may(Permission::Change) && !lonely {
                div.buttons { a.button.primary href=(NEW_ENDPOINT) { (t!("New endpoint")) } }
            }
        })
        .still(html! { @if lonely { (first_steps(person)) } })
        .still(rows(&endpoints, &names, counts.as_ref()))
        .still(parts::pager(ENDPOINTS, &params.only(&["cursor"]), next, (t!("First"), t!("Further")))))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Response {
    const COLUMNS: [&str; 8] =
        ["endpoint", "description", "address", "protocol", "group", "asks_for", "largest_body_bytes", "created_at"];
    let scope = visitor.principal.scope();
    export::csv("endpoints", &COLUMNS, move |after: Option<String>, most| {
        let (console, scope) = (console.clone(), scope.clone());
        async move {
            let found = console.notify.endpoints(&scope, after.as_deref(), most).await?;
            let ids: Vec<GroupId> = found.iter().filter_map(|endpoint| endpoint.group).collect();
            let names = console.access.group_names(&ids).await?;
            let next = found.last().map(|endpoint| endpoint.name.clone()).filter(|_| found.len() == most);
            Ok((found.iter().map(|endpoint| cells(endpoint, &names)).collect(), next))
        }
    })
}

/// Whether it asks for something, never what.
fn cells(endpoint: &Endpoint, groups: &HashMap<GroupId, String>) -> Vec<String> {
    let options = &endpoint.options;
    let (address, protocol) = match &options.mqtt {
        Some(source) => (format!("{} {}", source.broker, source.topic), endpoint.protocol().name()),
        None if endpoint.is_system() => (String::new(), ""),
        None => (format!("/in/{}", endpoint.name), endpoint.protocol().name()),
    };
    let (token, signature) = (options.token_sha256.is_some(), !options.signature_secrets.is_empty());
    let asks = [("token", token), ("signature", signature)].into_iter().filter(|(_, asks)| *asks);
    vec![
        endpoint.name.clone(),
        options.description.clone(),
        address,
        protocol.to_owned(),
        endpoint.group.and_then(|group| groups.get(&group)).cloned().unwrap_or_default(),
        asks.map(|(name, _)| name).collect::<Vec<_>>().join(" "),
        options.max_body.to_string(),
        export::moment(Some(endpoint.created_at)),
    ]
}

/// How many each has, as far as this person sees them; `None` if they are too many to count for a list.
async fn subscriptions(console: &Console, person: &Person) -> Result<Option<HashMap<String, u64>>, Refusal> {
    let found = console.notify.subscriptions(&person.principal.scope(), None, None, COUNTED_MAX + 1).await?;
    if found.len() > COUNTED_MAX {
        return Ok(None);
    }
    let mut counts = HashMap::new();
    found.into_iter().for_each(|one| *counts.entry(one.endpoint_name).or_default() += 1);
    Ok(Some(counts))
}

fn rows(endpoints: &[Endpoint], groups: &HashMap<GroupId, String>, counts: Option<&HashMap<String, u64>>) -> Markup {
    html! {
        @if !endpoints.is_empty() {
            section.card {
                table.rows {
                    thead { tr {
                        th { (t!("Endpoint")) } th { (t!("Address")) } th { (t!("Protocol")) } th { (t!("Group")) } th { (t!("Asks for")) }
                        th.num { (t!("Largest body")) } @if counts.is_some() { th.num { (t!("Subscriptions")) } }
                    } }
                    tbody { @for endpoint in endpoints { tr {
                        td data-label=(t!("Endpoint")) {
                            (endpoint_link(&endpoint.name))
                            @if !endpoint.options.description.is_empty() {
                                p.note.quiet { (endpoint.options.description) }
                            }
                        }
                        td data-label=(t!("Address")) { (address(endpoint)) }
                        td data-label=(t!("Protocol")) {
                            @if endpoint.is_system() { span.quiet { "–" } } @else { (endpoint.protocol().name()) }
                        }
                        td data-label=(t!("Group")) {
                            @if endpoint.is_system() { (t!("everybody")) }
                            @else { (parts::group_name(endpoint.group, groups)) }
                        }
                        td data-label=(t!("Asks for")) { (asks_for(endpoint)) }
                        td.num data-label=(t!("Largest body")) { (size(endpoint)) }
                        @if let Some(counts) = counts {
                            td.num data-label=(t!("Subscriptions")) {
                                @let count = counts.get(&endpoint.name).copied().unwrap_or(0);
                                (parts::tally(count, &all_of("endpoint", &endpoint.name, SUBSCRIPTIONS)))
                            }
                        }
                    } } }
                }
            }
        }
    }
}

fn size(endpoint: &Endpoint) -> String {
    words::bytes(usize::try_from(endpoint.options.max_body).unwrap_or(usize::MAX))
}

/// How to get the first event in.
fn first_steps(person: &Person) -> Markup {
    if !person.may(Permission::Change) {
        return parts::empty(t!("There are no endpoints yet. Those of your groups will be shown here."), None);
    }
    html! {
        div.empty {
            p { (t!("There are no endpoints yet. Make one here, or from a terminal:")) }
            p { a.button.primary href=(NEW_ENDPOINT) { (t!("New endpoint")) } }
            (parts::command_line(&make_line(person, "endpoints", r#"{"name":"orders"}"#)))
            p { (t!("Then post a first event to it:")) }
            (parts::command_line(&first_post(person)))
        }
    }
}
