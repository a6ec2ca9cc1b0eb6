//! The audit log: who changed what, newest first.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use malla_access::{AuditEntry, AuditFilter};
use malla_queue::{LaneKey, TaskId, UnixMs};
use maud::{Markup, html};

use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, parts, words};

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
    let page = Page::new("/audit", "Audit");
    let (filter, below) = match read(params) {
        Ok(read) => read,
        Err(sentence) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
    };
    let mut entries = console.access.audit(&person.principal.scope(), &filter, below, ROWS + 1).await?;
    let more = entries.len() > ROWS;
    entries.truncate(ROWS);
    let next = entries.last().filter(|_| more).map(|entry| entry.id.to_string());
    let links = params.only(&["actor", "action", "object", "from", "to", "cursor"]);
    Ok(page
        .still(filters(params))
        .live("entries", rows(console.now(), params, &entries))
        .live("pager", parts::pager("/audit", &links, next, ("Newest", "Older"))))
}

fn read(params: &Params) -> Result<(AuditFilter, Option<i64>), String> {
    let time = |name: &str| {
        let read = |text: &str| {
            let wrong = || format!("\"{text}\" is not a time: write it as 2026-01-31T12:00 (UTC).");
            words::read_time(text).ok_or_else(wrong)
        };
        params.get(name).map(read).transpose()
    };
    let text = |name: &str| params.get(name).map(str::to_owned);
    let filter = AuditFilter {
        actor: text("actor"),
        action: text("action"),
        object: text("object"),
        from: time("from")?,
        to: time("to")?,
    };
    let wrong = |_| "The cursor is not one of ours: begin from the first page.".to_owned();
    Ok((filter, params.get("cursor").map(str::parse).transpose().map_err(wrong)?))
}

fn filters(params: &Params) -> Markup {
    let text = |label: &str, name: &str, example: &str| {
        html! { label { span.label { (label) } input name=(name) value=(params.typed(name)) placeholder=(example); } }
    };
    let time = |label: &str, name: &str| {
        let value = params.typed(name);
        html! { label.time { span.label { (label) } input type="datetime-local" step="1" name=(name) value=(value); } }
    };
    html! {
        form.filters method="get" action="/audit" role="search" {
            (text("Who", "actor", "user:ana"))
            (text("Action", "action", "task"))
            (text("Object", "object", ""))
            (time("From (UTC)", "from"))
            (time("To (UTC)", "to"))
            div.buttons {
                button { "Filter" }
                @if !params.only(NAMES).is_empty() { a.button.plain href="/audit" { "Clear" } }
            }
        }
    }
}

fn rows(now: UnixMs, params: &Params, entries: &[AuditEntry]) -> Markup {
    if entries.is_empty() {
        let sentence = match params.only(NAMES).is_empty() {
            true => "Nothing has been changed yet.",
            false => "Nothing matches these filters.",
        };
        return parts::empty(sentence, None);
    }
    html! {
        section.card {
            table.rows {
                thead { tr { th { "When" } th { "Who" } th { "Action" } th { "Object" } th { "Detail" } } }
                tbody { @for entry in entries { tr {
                    td data-label="When" { (words::time(now, entry.at)) }
                    td data-label="Who" { (entry.actor) }
                    td data-label="Action" { code { (entry.action) } }
                    td data-label="Object" { (object(entry)) }
                    td data-label="Detail" { (detail(&entry.detail)) }
                } } }
            }
        }
    }
}

/// The object, with a link where there is a page for it.
fn object(entry: &AuditEntry) -> Markup {
    let text = entry.object.as_str();
    let page = entry.action.split('.').next().unwrap_or_default();
    html! {
        @match page {
            "task" => @match text.parse::<TaskId>() { Ok(id) => (parts::task_link(id)), Err(_) => (text) },
            "lane" => @match text.parse::<LaneKey>() { Ok(key) => (parts::lane_link(&key)), Err(_) => (text) },
            _ => (text),
        }
    }
}

fn detail(detail: &serde_json::Value) -> Markup {
    let text = if detail.is_null() { String::new() } else { detail.to_string() };
    let end = text.char_indices().nth(DETAIL_CHARS_MAX).map_or(text.len(), |(end, _)| end);
    html! { @if !text.is_empty() { code.quiet.detail { (text[..end]) @if end < text.len() { "…" } } } }
}
