//! All subscriptions that match are suspended, activated or disabled.

use axum::extract::State as Shared;
use axum::response::Response;
use futures_util::future::try_join_all;
use malla_access::Permission;
use malla_notify::{Subscription, SubscriptionState};
use malla_queue::{Error, StateCounts};
use maud::{Markup, html};

use super::super::{NEW_SUBSCRIPTION, SUBSCRIPTIONS, state_badge, state_name};
use super::filter::{NAMES, Wanted};
use super::list::{WAITING, counts};
use super::state::{into_state, verb};
use crate::caller::Person;
use crate::each::{Asked, CHOSEN_MAX, Chosen, Each};
use crate::frame::Page;
use crate::many::WORK_MAX;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor};
use crate::{Console, words};

/// Beside the subscriptions, one of which may have any name.
pub(crate) const ACT: &str = "/notify/change-subscriptions";
/// Subscriptions that are counted for the question; more are told as "at least".
const COUNTED_MAX: usize = 1_000;
const STEP: usize = 100;

/// The states as what is done to reach them.
const VERBS: [(&str, SubscriptionState); 3] = [
    ("activate", SubscriptionState::Active),
    ("suspend", SubscriptionState::Suspended),
    ("disable", SubscriptionState::Disabled),
];

fn read_verb(text: &str) -> Result<SubscriptionState, Refusal> {
    let wrong = || Refusal::bad(say!("\"{text}\" is not a verb for subscriptions: activate, suspend or disable", text));
    VERBS.into_iter().find(|(name, _)| *name == text).map(|(_, state)| state).ok_or_else(wrong)
}

fn consequence(to: SubscriptionState) -> &'static str {
    match to {
        SubscriptionState::Active => {
            t!("What was held goes out, oldest first. Events that came while one was disabled are not sent.")
        }
        SubscriptionState::Suspended => t!("Events go on making notifications; they are held until you activate them."),
        SubscriptionState::Disabled => {
            t!("They get no events any more, and what waits is discarded. To hold it, suspend them.")
        }
    }
}

fn each(to: SubscriptionState, list: &str) -> Each<'_> {
    let danger = to == SubscriptionState::Disabled;
    let thing = noun!("subscription", "subscriptions");
    Each { thing, place: SUBSCRIPTIONS, act: ACT, name: verb(to), danger, list }
}

pub(crate) async fn confirm(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let (to, wanted) = (read_verb(params.typed("verb"))?, Wanted::read(&params)?);
    let scope = visitor.principal.scope();
    let mut found = wanted.find(&console, &scope, None, COUNTED_MAX, WORK_MAX).await?;
    found.subscriptions.retain(|one| one.state != to);
    let few = &found.subscriptions[..found.subscriptions.len().min(CHOSEN_MAX + 1)];
    let waiting = try_join_all(few.iter().map(|one| counts(&console, &scope, one))).await?;
    let choice = |(one, waiting): (&Subscription, &StateCounts)| (one.name.clone(), shown(one, waiting));
    let endpoint = params.get("endpoint").map(|endpoint| (t!("Endpoint"), endpoint.to_owned()));
    let state = wanted.state.map(|state| (t!("state"), state_name(state).to_owned()));
    let search = params.get("search").map(|search| (t!("Search"), search.to_owned()));
    let asked = Asked {
        count: found.subscriptions.len() as u64,
        more: found.next.is_some(),
        consequence: consequence(to),
        conditions: endpoint.into_iter().chain(state).chain(search).collect(),
        fields: wanted.params.with("verb", params.typed("verb")).with("until", console.now().0.to_string()),
        choices: few.iter().zip(&waiting).map(choice).collect(),
    };
    Ok(each(to, &wanted.params.link(SUBSCRIPTIONS)).asking(&visitor, asked))
}

fn shown(one: &Subscription, counts: &StateCounts) -> Markup {
    let waiting = WAITING.iter().map(|state| counts.of(*state)).sum();
    html! { (one.name) " " (state_badge(one.state)) " " span.quiet { (rich!("{} waiting", words::count(waiting))) } }
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let (to, wanted) = (read_verb(fields.typed("verb"))?, Wanted::read(fields)?);
    let (list, from) = (fields.only(NAMES).link(SUBSCRIPTIONS), fields.get("cursor").map(str::to_owned));
    let (console, wanted, chosen) = (&console, &wanted, &Chosen::read(fields));
    let principal = &visitor.principal;
    let work = |after: Option<String>| async move {
        let found = wanted.find(console, &principal.scope(), after, STEP, WORK_MAX).await?;
        let means = |one: &&Subscription| one.state != to && chosen.means(&one.name, one.created_at);
        let mut done = 0;
        for one in found.subscriptions.iter().filter(means) {
            match into_state(console, principal, &one.name, to).await {
                Ok(()) => done += 1,
                // It went meanwhile.
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((done, found.next))
    };
    each(to, &list).work(console, &posted, from, work).await
}

/// What can be done to all that match, and the way to a new one.
pub(super) fn bar(person: &Person, wanted: &Wanted) -> Markup {
    let verbs = VERBS.into_iter().filter(|(_, to)| wanted.state.is_none_or(|state| state != *to));
    let new = wanted.params.only(&["endpoint"]).link(NEW_SUBSCRIPTION);
    html! {
        @if person.may(Permission::Change) {
            div.bulk {
                span.quiet { (t!("All that match:")) }
                @for (name, to) in verbs {
                    a.button.small href=(wanted.params.with("verb", name).link(ACT)) { (verb(to)) "…" }
                }
                a.button.primary.push href=(new) { (t!("New subscription")) }
            }
        }
    }
}
