//! All lanes that match are paused or go on.

use axum::extract::State as Shared;
use axum::response::{IntoResponse, Response};
use malla_queue::{Error, LaneChange, LaneFilter, LaneKey, LanePage};
use maud::html;
use tokio::time::Instant;

use super::list::{NAMES, read_filter};
use super::{change, held};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::many::WORK_MAX;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, parts};

const LANES: &str = "/lanes";
pub(super) const ACT: &str = "/lanes/act";
/// Lanes that are looked at in one step, and steps of the question; a house may have very many.
const STEP: usize = 200;
const COUNTED_STEPS: usize = 5;

/// Those that are not so yet. A subscription's own lane follows its state.
fn asked(params: &Params) -> Result<(LaneFilter, bool), Refusal> {
    let pause = match params.typed("verb") {
        "pause" => true,
        "resume" => false,
        other => return Err(Refusal::bad(say!("\"{other}\" is not a verb for lanes: pause or resume", other))),
    };
    Ok((LaneFilter { paused: Some(!pause), ..read_filter(params).map_err(Refusal::bad)? }, pause))
}

fn name(pause: bool) -> &'static str {
    if pause { t!("Pause") } else { t!("Resume") }
}

async fn step(
    console: &Console,
    person: &Person,
    filter: &LaneFilter,
    after: Option<&LaneKey>,
) -> Result<LanePage, Refusal> {
    let scope = person.principal.scope();
    let mut page = console.queue.lanes(&scope, filter, after, STEP).await?;
    let held = held(console, &scope, &page.lanes).await?;
    page.lanes.retain(|lane| !held.contains_key(&lane.key));
    Ok(page)
}

pub(crate) async fn confirm(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let (filter, pause) = asked(&params)?;
    let list = params.only(NAMES).link(LANES);
    let (mut count, mut after) = (0, None);
    for _ in 0..COUNTED_STEPS {
        let page = step(&console, &visitor, &filter, after.as_ref()).await?;
        count += page.lanes.len() as u64;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let page = Page::new(LANES, say!("{name} all that match?", name(pause))).up(list.clone(), t!("Back to the list"));
    if count == 0 && after.is_none() {
        let sentence = t!("There is nothing to do: all lanes that match are so already.");
        return Ok(page.still(parts::empty(sentence, Some((list.as_str(), t!("Back to the list"))))));
    }
    let number = html! { strong { (counted!(count, "lane", "lanes")) } };
    Ok(page.still(html! {
        section.card.question {
            p {
                @if after.is_some() { (rich!("At least {} match.", number)) } @else { (rich!("{} match.", number)) }
                " "
                @if pause { (t!("They start nothing new; what runs comes to its end.")) } @else { (t!("What waits there goes on.")) }
            }
            form method="post" action=(ACT) {
                (parts::form_secret(&visitor)) (params.only(NAMES).hidden())
                input type="hidden" name="verb" value=(params.typed("verb"));
                button.primary { (rich!("{} them", name(pause))) }
                a.button.plain href=(list) { (t!("Cancel")) }
            }
        }
    }))
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let (filter, pause) = asked(fields)?;
    let list = fields.only(NAMES).link(LANES);
    let mut after = fields.get("cursor").map(|key| LaneKey::trusted(key.to_owned()));
    let mut done: u64 = fields.get("done").and_then(|done| done.parse().ok()).unwrap_or(0);
    let deadline = Instant::now() + WORK_MAX;
    loop {
        let page = step(&console, visitor, &filter, after.as_ref()).await?;
        for lane in &page.lanes {
            let switch = LaneChange { paused: Some(pause), ..LaneChange::default() };
            match change(&console, visitor, &lane.key, switch).await {
                Ok(_) => done += 1,
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        after = page.next;
        if after.is_none() {
            let sentence = say!("Done: {}.", counted!(done, "lane", "lanes"));
            return Ok(go(&console, &list, Notice::good(sentence)));
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    let so_far = counted!(done, "lane", "lanes");
    let again = fields.without("csrf").with("done", done.to_string());
    let again = again.with("cursor", after.map(|key| key.to_string()).unwrap_or_default());
    let page = Page::new(LANES, say!("{so_far} so far", so_far)).up(list.clone(), t!("Back to the list"));
    Ok(page
        .still(html! {
            section.card.question {
                p { (rich!("Done: {}. More remain.", so_far)) }
                form method="post" action=(ACT) {
                    (parts::form_secret(visitor)) (again.hidden())
                    button.primary { (t!("Continue")) }
                    a.button.plain href=(list) { (t!("Stop here")) }
                }
            }
        })
        .into_response())
}

/// What can be done to all that match.
pub(super) fn bar(person: &Person, params: &Params) -> maud::Markup {
    let paused = params.typed("paused");
    let verbs = [("pause", "no"), ("resume", "yes")].into_iter().filter(|(_, of)| paused.is_empty() || paused == *of);
    html! {
        @if person.may(malla_access::Permission::Change) {
            div.bulk {
                span.quiet { (t!("All that match:")) }
                @for (verb, _) in verbs {
                    a.button.small href=(params.only(NAMES).with("verb", verb).link(ACT)) { (name(verb == "pause")) "…" }
                }
            }
        }
    }
}
