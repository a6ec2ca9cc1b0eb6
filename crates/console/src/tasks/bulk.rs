//! A verb on all tasks that match: a page that says what will be done to what, then bounded steps.

use std::time::Duration;

use axum::extract::State as Shared;
use axum::response::{IntoResponse, Response};
use malla_queue::{Act, Bulk, Move, State, TaskId, UnixMs};
use maud::{Markup, html};
use tokio::time::Instant;

use super::filter::{NAMES, Wanted};
use super::{action, read_verb};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, parts, words};

/// One request works this long; then the person says whether to go on.
const WORK_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn confirm(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let verb = read_verb(params.typed("verb"))?;
    let wanted = Wanted::read(&console, &visitor, &params).await?;
    let states = wanted.states_for(verb);
    let known = wanted.counts(&console).await?.map(|counts| states.iter().map(|s| counts.of(*s)).sum());
    // Tasks that come in while the person reads this are not meant.
    let fields = wanted.params.with("until", console.now().0.to_string());
    Ok(asking(&visitor, verb, &wanted, &states, known, &fields))
}

fn asking(person: &Person, verb: Move, wanted: &Wanted, states: &[State], known: Option<u64>, fields: &Params) -> Page {
    let name = parts::verb_name(verb);
    let list = wanted.params.link("/tasks");
    let page = Page::new("/tasks", format!("{name} all that match?")).up(list.clone(), "Back to the list");
    if states.is_empty() || known == Some(0) {
        let sentence = format!("None of these tasks can be {} now.", verb.participle());
        return page.still(parts::empty(&sentence, Some((&list, "Back to the list"))));
    }
    let how_many = known.map_or_else(|| "All tasks".to_owned(), |n| words::counted(n, "task"));
    page.still(html! {
        section.card.question {
            p { strong { (how_many) } " that match will be " (verb.participle()) ". " (consequence(verb)) }
            (conditions(wanted, states))
            form method="post" action="/tasks/act" {
                (parts::form_secret(person)) (fields.hidden())
                input type="hidden" name="verb" value=(verb.name());
                button.primary[verb != Move::Discard].danger[verb == Move::Discard] { (name) " them" }
                a.button.plain href=(list) { "Cancel" }
            }
        }
    })
}

fn consequence(verb: Move) -> &'static str {
    match verb {
        Move::Pause => "They wait until somebody resumes them.",
        Move::Resume => "They go on in their lanes.",
        Move::Discard => "They will not be done; what runs now loses its lease.",
        Move::Resend => "They start over with all their attempts.",
        Move::Confirm => "They count as done.",
    }
}

fn conditions(wanted: &Wanted, states: &[State]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in wanted.conditions() { dt { (name) } dd { (value) } }
            @if wanted.filter.states.is_empty() {
                dt { "state" } dd { @for state in states { (parts::badge(*state)) " " } }
            }
            @if wanted.filter.to.is_none() { dt { "submitted" } dd { "until now" } }
        }
    }
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let verb = read_verb(fields.typed("verb"))?;
    let mut wanted = Wanted::read(&console, visitor, fields).await?;
    let until = fields.get("until").and_then(|ms| ms.parse().ok()).map(UnixMs);
    wanted.filter.to = wanted.filter.to.or(until);
    let before: u64 = fields.get("done").and_then(|done| done.parse().ok()).unwrap_or(0);
    let below = fields.get("cursor").map(str::parse).transpose()?;
    let step = work(&console, visitor, verb, &wanted, below).await?;
    let done = before.saturating_add(step.changed);
    let list = fields.only(NAMES).link("/tasks");
    let Some(next) = step.next else {
        let sentence = format!("{}: {}.", capital(verb.participle()), words::counted(done, "task"));
        return Ok(go(&console, &list, Notice::good(sentence)));
    };
    let again = fields.without("csrf").with("done", done.to_string()).with("cursor", next.to_string());
    Ok(going_on(visitor, verb, done, &again, &list).into_response())
}

/// Steps until nothing is left or the time is up. `sum.next` is where to go on.
async fn work(
    console: &Console,
    person: &Person,
    verb: Move,
    wanted: &Wanted,
    below: Option<TaskId>,
) -> Result<Bulk, Refusal> {
    let deadline = Instant::now() + WORK_MAX;
    let mut sum = Bulk { changed: 0, next: below };
    loop {
        let object = wanted.params.link("tasks");
        let act = Act { group: wanted.filter.group, ..Act::new(&person.principal.actor, action(verb), object) };
        let step = console.queue.act_on_all(&wanted.filter, sum.next, verb, act).await?;
        sum = Bulk { changed: sum.changed + step.changed, next: step.next };
        if sum.next.is_none() || Instant::now() >= deadline {
            return Ok(sum);
        }
    }
}

fn going_on(person: &Person, verb: Move, done: u64, again: &Params, list: &str) -> Page {
    Page::new("/tasks", format!("{} so far", words::counted(done, "task"))).up(list, "Back to the list").still(html! {
        section.card.question {
            p { (capital(verb.participle())) ": " (words::counted(done, "task")) ". More remain." }
            form method="post" action="/tasks/act" {
                (parts::form_secret(person)) (again.hidden())
                button.primary { "Continue" }
                a.button.plain href=(list) { "Stop here" }
            }
        }
    })
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

#[cfg(test)]
mod tests {
    use malla_access::{Principal, Role};

    use super::*;
    use crate::frame::Block;

    #[test]
    fn going_on_carries_the_filter_the_place_and_the_count() {
        let person = Person {
            principal: Principal { actor: "user:ana".into(), role: Role::User, groups: Vec::new() },
            name: "ana".into(),
            csrf: "secret".into(),
            signed_in: true,
            here: "/tasks/act".into(),
            server: "http://malla.test".into(),
        };
        let again =
            Params::from([("state", "failed"), ("verb", "resend"), ("done", "9000"), ("cursor", "069zgg4c0001d")]);
        let page = going_on(&person, Move::Resend, 9_000, &again, "/tasks?state=failed");
        assert_eq!(page.title, "9,000 tasks so far");
        let Some(Block::Still(body)) = page.blocks.first() else { panic!("a block") };
        let body = body.clone().into_string();
        for text in ["name=\"cursor\" value=\"069zgg4c0001d\"", "value=\"failed\"", "value=\"secret\"", ">Continue<"] {
            assert!(body.contains(text), "{text} in {body}");
        }
    }
}
