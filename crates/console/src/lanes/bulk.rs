//! All lanes that match are paused or go on.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_queue::{Error, LaneChange, LaneFilter, LaneKey, LanePage};
use maud::html;

use super::list::{NAMES, read_filter};
use super::{change, held};
use crate::Console;
use crate::caller::Person;
use crate::each::{Asked, Each};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor};

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

fn each<'a>(pause: bool, list: &'a str) -> Each<'a> {
    Each { thing: noun!("lane", "lanes"), place: LANES, act: ACT, name: name(pause), danger: false, list }
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
    let consequence = match pause {
        true => t!("They start nothing new; what runs comes to its end."),
        false => t!("What waits there goes on."),
    };
    let fields = params.only(NAMES).with("verb", params.typed("verb"));
    let asked = Asked { count, more: after.is_some(), consequence, fields, ..Asked::default() };
    Ok(each(pause, &list).asking(&visitor, asked))
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let (filter, pause) = asked(&posted.fields)?;
    let list = posted.fields.only(NAMES).link(LANES);
    let from = posted.fields.get("cursor").map(|key| LaneKey::trusted(key.to_owned()));
    let (console, filter, person) = (&console, &filter, &*posted.visitor);
    let work = |after: Option<LaneKey>| async move {
        let page = step(console, person, filter, after.as_ref()).await?;
        let mut done = 0;
        for lane in &page.lanes {
            let switch = LaneChange { paused: Some(pause), ..LaneChange::default() };
            match change(console, person, &lane.key, switch).await {
                Ok(_) => done += 1,
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((done, page.next))
    };
    each(pause, &list).work(console, &posted, from, work).await
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
