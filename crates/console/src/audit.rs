//! The audit log: who changed what, newest first.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::{AuditEntry, AuditFilter};
use malla_queue::{LaneKey, TaskId, UnixMs};
use maud::{Markup, html};

use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, notify, parts, words};

const ROWS: usize = 50;
const NAMES: &[&str] = &["actor", "action", "object", "from", "to"];
const DETAIL_CHARS_MAX: usize = 200;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new("/audit", t!("Audit"));
    let (filter, below) = match read(params) {
        Ok(read) => read,
        Err(Refusal::Sentence { status, sentence }) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(status).still(filters(params)).still(error));
        }
        Err(other) => return Err(other),
    };
    let mut entries = console.access.audit(&person.principal.scope(), &filter, below, ROWS + 1).await?;
    let more = entries.len() > ROWS;
    entries.truncate(ROWS);
    let next = entries.last().filter(|_| more).map(|entry| entry.id.to_string());
    let links = params.only(&["actor", "action", "object", "from", "to", "cursor"]);
    let asked = params.only(NAMES);
    Ok(page
        .csv(asked.link("/audit.csv"))
        .api(person, &asked.link("/api/v1/audit"))
        .still(filters(params))
        .live("entries", rows(console.now(), params, &entries))
        .live("pager", parts::pager("/audit", &links, next, (t!("Newest"), t!("Older")))))
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    let (filter, _) = read(&params)?;
    let scope = visitor.principal.scope();
    Ok(export::csv("audit", &["at", "actor", "action", "object", "detail"], move |below: Option<i64>, most| {
        let (console, filter, scope) = (console.clone(), filter.clone(), scope.clone());
        async move {
            let entries = console.access.audit(&scope, &filter, below, most).await?;
            let next = entries.last().filter(|_| entries.len() == most).map(|entry| entry.id);
            Ok((entries.iter().map(cells).collect(), next))
        }
    }))
}

fn cells(entry: &AuditEntry) -> Vec<String> {
    let detail = if entry.detail.is_null() { String::new() } else { entry.detail.to_string() };
    vec![export::moment(Some(entry.at)), entry.actor.clone(), entry.action.clone(), entry.object.clone(), detail]
}

fn read(params: &Params) -> Result<(AuditFilter, Option<i64>), Refusal> {
    let text = |name: &str| params.get(name).map(str::to_owned);
    let filter = AuditFilter {
        actor: text("actor"),
        action: text("action"),
        object: text("object"),
        from: params.time("from")?,
        to: params.time("to")?,
    };
    let wrong = |_| Refusal::bad(t!("the cursor is not one of ours: begin from the first page"));
    Ok((filter, params.get("cursor").map(str::parse).transpose().map_err(wrong)?))
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action="/audit" role="search" {
            (parts::text_filter(params, t!("Who"), "actor", "user:ana"))
            (parts::text_filter(params, t!("Action"), "action", "task"))
            (parts::text_filter(params, t!("Object"), "object", ""))
            (parts::time_filter(params, t!("From (UTC)"), "from"))
            (parts::time_filter(params, t!("To (UTC)"), "to"))
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).is_empty() { a.button.plain href="/audit" { (t!("Clear")) } }
            }
        }
    }
}

fn rows(now: UnixMs, params: &Params, entries: &[AuditEntry]) -> Markup {
    if entries.is_empty() {
        let sentence = match params.only(NAMES).is_empty() {
            true => t!("Nothing has been changed yet."),
            false => t!("Nothing matches these filters."),
        };
        return parts::empty(sentence, None);
    }
    html! {
        section.card {
            table.rows {
                thead { tr { th { (t!("When")) } th { (t!("Who")) } th { (t!("Action")) } th { (t!("Object")) } th { (t!("Detail")) } } }
                tbody { @for entry in entries { tr {
                    td data-label=(t!("When")) { (words::time(now, entry.at)) }
                    td data-label=(t!("Who")) { (entry.actor) }
                    td data-label=(t!("Action")) { code { (entry.action) } }
                    td data-label=(t!("Object")) { (object(entry)) }
                    td data-label=(t!("Detail")) { (detail(&entry.detail)) }
                } } }
            }
        }
    }
}

/// The object, with a link where there is a page for it.
fn object(entry: &AuditEntry) -> Markup {
    let text = entry.object.as_str();
    let page = entry.action.split('.').next().unwrap_or_default();
    let gone = entry.action.ends_with(".delete");
    html! {
        @match page {
            "task" => @match text.parse::<TaskId>() { Ok(id) => (parts::task_link(id)), Err(_) => (text) },
            "lane" => @match text.parse::<LaneKey>() { Ok(key) => (parts::lane_link(&key)), Err(_) => (text) },
            "notification" => @match text.parse::<TaskId>() {
                Ok(id) => (notify::notification_link(id)),
                Err(_) => (text),
            },
            "endpoint" if !gone => (notify::endpoint_link(text)),
            "subscription" if !gone => (notify::subscription_link(text)),
            _ => (text),
        }
    }
}

fn detail(detail: &serde_json::Value) -> Markup {
    let text = if detail.is_null() { String::new() } else { detail.to_string() };
    let end = text.char_indices().nth(DETAIL_CHARS_MAX).map_or(text.len(), |(end, _)| end);
    html! { @if !text.is_empty() { code.quiet.detail { (text[..end]) @if end < text.len() { "…" } } } }
}
