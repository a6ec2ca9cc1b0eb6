//! Pieces that many pages are made of.

use std::collections::HashMap;

use malla_access::{Permission, Role};
use malla_queue::{GroupId, LaneKey, Move, State, StateCounts, TaskId, UnixMs, What};
use maud::{Markup, html};

use crate::caller::Person;
use crate::params::Params;
use crate::tongue::Text;
use crate::words;

/// What proves that a form is ours.
pub(crate) fn form_secret(person: &Person) -> Markup {
    html! { input type="hidden" name="csrf" value=(person.csrf); }
}

/// Where a form comes back to: the page it is on.
pub(crate) fn back(person: &Person) -> Markup {
    html! { input type="hidden" name="back" value=(person.here); }
}

pub(crate) fn badge(state: State) -> Markup {
    html! { span class={ "badge s-" (state) } { (state_name(state)) } }
}

/// The state of a task or a notification, as a person says it. Addresses and the API have its own name.
pub(crate) fn state_name(state: State) -> &'static str {
    match state {
        State::Queued => t!("queued"),
        State::Running => t!("running"),
        State::Paused => t!("paused"),
        State::Notified => t!("notified"),
        State::Succeeded => t!("succeeded"),
        State::Failed => t!("failed"),
        State::Discarded => t!("discarded"),
    }
}

/// What a verb has done to one task or notification.
pub(crate) fn participle(verb: Move) -> &'static str {
    match verb {
        Move::Pause => t!("paused", "done to it"),
        Move::Resume => t!("resumed", "done to it"),
        Move::Discard => t!("discarded", "done to it"),
        Move::Resend => t!("resent", "done to it"),
        Move::Confirm => t!("confirmed", "done to it"),
    }
}

/// What a verb does to many.
pub(crate) fn participle_of_many(verb: Move) -> &'static str {
    match verb {
        Move::Pause => t!("paused", "done to them"),
        Move::Resume => t!("resumed", "done to them"),
        Move::Discard => t!("discarded", "done to them"),
        Move::Resend => t!("resent", "done to them"),
        Move::Confirm => t!("confirmed", "done to them"),
    }
}

/// An entry of a history.
pub(crate) fn entry_name(what: What) -> &'static str {
    match what {
        What::Succeeded => t!("succeeded"),
        What::Notified => t!("notified"),
        What::Retried => t!("retried"),
        What::Failed => t!("failed"),
        What::Released => t!("released"),
        What::Lapsed => t!("lapsed"),
        What::Unconfirmed => t!("unconfirmed"),
        What::Paused => t!("paused", "done to it"),
        What::Resumed => t!("resumed", "done to it"),
        What::Discarded => t!("discarded", "done to it"),
        What::Resent => t!("resent", "done to it"),
        What::Confirmed => t!("confirmed", "done to it"),
    }
}

pub(crate) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Admin => t!("admin"),
        Role::User => t!("user", "role"),
        Role::Readonly => t!("readonly"),
    }
}

/// The colour of an entry: the state it is closest to.
pub(crate) fn tone(what: What) -> &'static str {
    match what {
        What::Succeeded | What::Confirmed => "succeeded",
        What::Notified => "notified",
        What::Retried | What::Lapsed | What::Unconfirmed | What::Paused => "paused",
        What::Failed => "failed",
        What::Released | What::Resumed | What::Resent => "queued",
        What::Discarded => "discarded",
    }
}

/// Nothing to show: one sentence, and what to do next.
pub(crate) fn empty(sentence: &str, next: Option<(&str, &str)>) -> Markup {
    html! {
        div.empty {
            p { (sentence) }
            @if let Some((path, name)) = next { p { a.button href=(path) { (name) } } }
        }
    }
}

/// Nothing to show: one sentence, and a command that changes it.
pub(crate) fn empty_with_command(sentence: &str, command: &str) -> Markup {
    html! { div.empty { p { (sentence) } (command_line(command)) } }
}

/// A line for a terminal.
pub(crate) fn command_line(command: &str) -> Markup {
    html! { pre.command data-copy { code { (command) } } }
}

pub(crate) fn error_line(error: Option<&str>) -> Markup {
    html! { @if let Some(error) = error { p.notice.bad role="alert" { (error) } } }
}

pub(crate) fn task_path(id: TaskId) -> String {
    format!("/tasks/{id}")
}

pub(crate) fn task_link(id: TaskId) -> Markup {
    html! { a.id href=(task_path(id)) { (id) } }
}

pub(crate) fn lane_path(key: &LaneKey) -> String {
    Params::from([("key", key.as_str())]).link("/lane")
}

pub(crate) fn lane_link(key: &LaneKey) -> Markup {
    html! { a.key href=(lane_path(key)) { span.quiet { (key.room()) "/" } (key.name()) } }
}

pub(crate) fn moment(now: UnixMs, at: Option<UnixMs>) -> Markup {
    html! { @match at { Some(at) => (words::time(now, at)), None => span.quiet { "–" } } }
}

pub(crate) fn group_name(group: Option<GroupId>, names: &HashMap<GroupId, String>) -> Markup {
    html! { @match group.and_then(|id| names.get(&id)) { Some(name) => (name), None => span.quiet { "–" } } }
}

/// A number that leads somewhere; zero is quiet and leads nowhere.
pub(crate) fn tally(n: u64, path: &str) -> Markup {
    html! { @if n == 0 { span.quiet { "0" } } @else { a href=(path) { (words::count(n)) } } }
}

/// How the states share a whole, as a thin bar. What is done or discarded is left out: the bar is about what is left.
pub(crate) fn share(counts: &StateCounts) -> Markup {
    let shown = [State::Running, State::Queued, State::Notified, State::Paused, State::Failed];
    let slices = shown.map(|state| (state.name(), state_name(state), counts.of(state)));
    stacked(&slices, slices.iter().map(|(_, _, n)| n).sum())
}

/// Parts of a whole one after the other, as a thin bar: each with its colour (a state's), its name and its size.
pub(crate) fn stacked(slices: &[(&str, &str, u64)], whole: u64) -> Markup {
    let mut from = 0.0;
    let shown: Vec<_> = slices.iter().filter(|(_, _, n)| *n > 0).collect();
    let words: Vec<String> = shown.iter().map(|(_, name, n)| format!("{} {name}", words::count(*n))).collect();
    let drawn = shown.into_iter().map(|(tone, _, n)| {
        let width = *n as f64 * 100.0 / whole.max(1) as f64;
        from += width;
        (tone, from - width, width)
    });
    // An empty bar tells nobody anything.
    let told = Some(words.join(", ")).filter(|told| !told.is_empty());
    html! {
        svg.share viewBox="0 0 100 4" preserveAspectRatio="none" role=[told.as_ref().map(|_| "img")] aria-label=[&told]
            aria-hidden=[told.is_none().then_some("true")] {
            @if let Some(told) = &told { title { (told) } }
            rect.rest width="100" height="4" {}
            @for (tone, x, width) in drawn {
                rect class={ "s-" (tone) } x=(format!("{x:.2}")) width=(format!("{width:.2}")) height="4" {}
            }
        }
    }
}

/// What a verb is called on a button.
pub(crate) fn verb_name(verb: Move) -> &'static str {
    match verb {
        Move::Pause => t!("Pause"),
        Move::Resume => t!("Resume"),
        Move::Discard => t!("Discard"),
        Move::Resend => t!("Retry"),
        Move::Confirm => t!("Confirm"),
    }
}

/// Buttons for what this person may do to a task in this state.
pub(crate) fn task_buttons(person: &Person, id: TaskId, state: State) -> Markup {
    let verbs = [Move::Resend, Move::Confirm, Move::Resume, Move::Pause, Move::Discard];
    let verbs = verbs.into_iter().filter(|verb| state.after(*verb).is_some());
    html! {
        @if person.may(Permission::Change) {
            form.actions method="post" action={ (task_path(id)) "/act" } {
                (form_secret(person)) (back(person))
                @for verb in verbs {
                    button.small.danger[verb == Move::Discard] name="verb" value=(verb.name()) { (verb_name(verb)) }
                }
            }
        }
    }
}

/// Back to the newest and on to the older; `next` is where the older begin.
pub(crate) fn pager(path: &str, params: &Params, next: Option<String>, words: (&str, &str)) -> Markup {
    let (first, further) = words;
    html! {
        nav.pager aria-label=(t!("More")) {
            @if params.get("cursor").is_some() {
                a.button href=(params.without("cursor").link(path)) { "← " (first) }
            }
            @if let Some(next) = next { a.button href=(params.with("cursor", next).link(path)) { (further) " →" } }
        }
    }
}

/// A button that asks once more before it does what cannot be undone.
pub(crate) fn delete_form(person: &Person, action: &str, thing: &str, warning: &str) -> Markup {
    asking_form(person, t!("Delete…"), action, html! { p { (warning) } button.danger { (rich!("Delete {}", thing)) } })
}

/// A button that opens the form it is about: a sentence on what will happen, and the button that does it.
pub(crate) fn asking_form(person: &Person, name: &str, action: &str, inside: Markup) -> Markup {
    html! {
        details.confirm {
            summary.button.danger { (name) }
            form.confirm-body method="post" action=(action) { (form_secret(person)) (inside) }
        }
    }
}

/// One field of a form with its label and a hint or an error under it.
pub(crate) fn field(label: &str, hint: &str, error: Option<&str>, control: Markup) -> Markup {
    html! {
        label.field.wrong[error.is_some()] {
            span.label { (label) }
            (control)
            @match error {
                Some(error) => span.hint.error role="alert" { (error) },
                None => @if !hint.is_empty() { span.hint { (hint) } },
            }
        }
    }
}

/// A word to filter a list by.
pub(crate) fn text_filter(params: &Params, label: &str, name: &str, example: &str) -> Markup {
    html! { label { span.label { (label) } input name=(name) value=(params.typed(name)) placeholder=(example); } }
}

/// A moment to filter a list by.
pub(crate) fn time_filter(params: &Params, label: &str, name: &str) -> Markup {
    let typed = params.get(name);
    let value = typed.map(|text| words::read_time(text).map_or_else(|| text.to_owned(), words::field));
    html! { label.time { span.label { (label) } input type="datetime-local" step="1" name=(name) value=[value]; } }
}

/// A choice among texts of ours.
pub(crate) fn choose(name: &str, options: &[(&str, Text)], chosen: &str) -> Markup {
    let options: Vec<(&str, &str)> = options.iter().map(|(value, text)| (*value, text.get())).collect();
    select(name, &options, chosen)
}

/// A choice among names.
pub(crate) fn select(name: &str, options: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        select name=(name) {
            @for (value, text) in options { option value=(value) selected[*value == chosen] { (text) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_shows_what_is_left_in_proportion() {
        let counts = StateCounts { queued: 30, failed: 10, succeeded: 9_999, ..StateCounts::default() };
        let text = share(&counts).into_string();
        assert!(text.contains("30 queued, 10 failed"), "{text}");
        assert!(text.contains(r#"class="s-failed" x="75.00" width="25.00""#), "{text}");
        assert!(!share(&StateCounts::default()).into_string().contains("NaN"));
    }

    #[test]
    fn a_lane_key_survives_its_link() {
        let key = LaneKey::trusted("fetch/https://a.org/?q=1&r#x".into());
        let path = lane_path(&key);
        let query = path.split_once('?').expect("a query").1;
        assert_eq!(Params::parse(query.as_bytes()).get("key"), Some(key.as_str()));
    }
}
