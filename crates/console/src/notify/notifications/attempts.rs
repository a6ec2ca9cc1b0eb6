//! The story of a notification: each attempt with what came back, and what people did.

use malla_queue::{Entry, State, Task, UnixMs, What};
use maud::{Markup, html};
use serde_json::Value;

use crate::{content, parts, words};

/// Newest entries of a long story.
const ENTRIES_MAX: usize = 100;

pub(super) fn card(now: UnixMs, task: &Task) -> Markup {
    let left_out = task.history.len().saturating_sub(ENTRIES_MAX);
    let shown = &task.history[left_out..];
    // What a person looks for when something did not arrive.
    let newest_answer = shown.iter().rposition(|entry| entry.answer.is_some());
    let trouble = task.summary.state != State::Succeeded;
    html! {
        section.card {
            div.card-head { h2 { (t!("Attempts")) } }
            ol.timeline {
                li.submitted { p { strong { (t!("made")) } " " (words::time(now, task.summary.id.submitted_at())) } }
                @if left_out > 0 { li.quiet { p { (rich!("{} earlier left out", words::count(left_out as u64))) } } }
                @for (n, entry) in shown.iter().enumerate() { (line(now, entry, trouble && newest_answer == Some(n))) }
                @if task.summary.state == State::Running {
                    li.s-running {
                        p { strong { (t!("on its way")) } @if let Some(holder) = &task.summary.holder { " · " (holder) } }
                    }
                }
            }
        }
    }
}

fn line(now: UnixMs, entry: &Entry, open: bool) -> Markup {
    html! {
        li class={ "s-" (parts::tone(entry.what)) } {
            p {
                strong { (words_for(entry.what)) } " "
                @if let Some(status) = status(entry) { span class={ "badge s-" (parts::tone(entry.what)) } { (status) } " " }
                (words::time(now, entry.at))
                @if let Some(started) = entry.started_at {
                    span.quiet title=(say!("started {}", words::full(started))) {
                        " " (rich!("· took {}", words::lasted(started.until(entry.at))))
                    }
                }
                @if let Some(by) = &entry.by { span.quiet { " · " (by) } }
            }
            @if let Some(note) = &entry.note { p.note { (note) } }
            @if let Some(answer) = &entry.answer {
                details open[open] { summary { (t!("What came back")) } (came_back(answer)) }
            }
        }
    }
}

fn words_for(what: What) -> &'static str {
    match what {
        What::Succeeded => t!("delivered"),
        What::Notified => t!("taken, to be confirmed"),
        What::Retried => t!("not delivered, tried again later"),
        What::Failed => t!("not delivered, no attempt left"),
        What::Released => t!("given back undone"),
        What::Lapsed => t!("broken off"),
        What::Unconfirmed => t!("not confirmed in time"),
        other => parts::entry_name(other),
    }
}

fn status(entry: &Entry) -> Option<u64> {
    entry.answer.as_ref()?.get("status")?.as_u64()
}

/// An answer of HTTP: its headers and its body. Another one as it is.
fn came_back(answer: &Value) -> Markup {
    let headers = answer.get("headers").and_then(Value::as_object);
    if headers.is_none() || answer.get("status").is_none() {
        return content::show(format!("{answer}").as_bytes());
    }
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let truncated = answer.get("truncated").and_then(Value::as_bool).unwrap_or(false);
    html! {
        @if let Some(headers) = headers.filter(|headers| !headers.is_empty()) {
            dl.facts.plain {
                @for (name, value) in headers { dt { (name) } dd { (value.as_str().unwrap_or_default()) } }
            }
        }
        @match (text("body"), text("body_base64")) {
            (Some(body), _) => (content::show(body.as_bytes())),
            (None, Some(bytes)) => { p.quiet.size { (t!("bytes, in base64")) } pre.content data-copy { code { (bytes) } } },
            (None, None) => {},
        }
        @if truncated { p.quiet.note { (t!("There was more: only the beginning is kept.")) } }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_shown_with_its_status_headers_and_body_and_nothing_of_it_runs() {
        let answer = json!({
            "status": 500, "headers": { "x-reason": "<b>no</b>" }, "body": "<script>alert(1)</script>", "truncated": true,
        });
        let entry = Entry {
            what: What::Retried,
            at: UnixMs(2_000),
            started_at: Some(UnixMs(1_750)),
            by: Some("node-1".into()),
            note: Some("the target answered 500".into()),
            answer: Some(answer),
        };
        let text = line(UnixMs(3_000), &entry, true).into_string();
        for part in [
            ">500<",
            "took 250 ms",
            "node-1",
            "the target answered 500",
            "x-reason",
            "&lt;script&gt;",
            "only the beginning",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("<script>") && !text.contains("<b>no"), "{text}");
    }

    #[test]
    fn bytes_and_strange_answers_are_shown_too() {
        let bytes = json!({ "status": 200, "headers": {}, "body_base64": "/wA=", "truncated": false });
        assert!(came_back(&bytes).into_string().contains("/wA="));
        assert!(came_back(&json!({ "reason": "x" })).into_string().contains("reason"));
    }
}
