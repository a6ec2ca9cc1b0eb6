//! The three states of a subscription: buttons that say first what will happen.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_access::{Permission, Principal};
use malla_notify::{Subscription, SubscriptionChange, SubscriptionState};
use malla_queue::{Act, Error, StateCounts};
use maud::{Markup, html};

use super::super::{state_name, subscription_path};
use super::filter::read_state;
use crate::caller::{Notice, Person};
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts};

/// A button for each other state; each asks once more.
pub(super) fn buttons(person: &Person, one: &Subscription, counts: &StateCounts) -> Markup {
    let others = SubscriptionState::ALL.into_iter().filter(|state| *state != one.state);
    let disabling = |state| state == SubscriptionState::Disabled;
    html! {
        @if person.may(Permission::Change) {
            @for state in others {
                details.confirm {
                    summary.button.danger[disabling(state)] { (verb(state)) "…" }
                    form.confirm-body method="post" action={ (subscription_path(&one.name)) "/state" } {
                        (parts::form_secret(person))
                        p { (consequence(one.state, state, counts)) }
                        button.danger[disabling(state)].primary[!disabling(state)] name="state" value=(state.name()) {
                            (verb(state)) " " (one.name)
                        }
                    }
                }
            }
        }
    }
}

/// On a button.
pub(super) fn verb(state: SubscriptionState) -> &'static str {
    match state {
        SubscriptionState::Active => t!("Activate"),
        SubscriptionState::Suspended => t!("Suspend"),
        SubscriptionState::Disabled => t!("Disable"),
    }
}

/// What happens to what waits, and to what comes.
fn consequence(from: SubscriptionState, to: SubscriptionState, counts: &StateCounts) -> String {
    let waiting =
        counted!(counts.queued + counts.running + counts.paused, "waiting notification", "waiting notifications");
    match (from, to) {
        (SubscriptionState::Disabled, SubscriptionState::Active) => {
            t!("It gets events from now on. Those that came while it was disabled are not sent.").to_owned()
        }
        (_, SubscriptionState::Active) => say!("What was held goes out, oldest first: {waiting}.", waiting),
        (SubscriptionState::Disabled, _) => {
            t!("It gets events from now on; its notifications are held until you activate it.").to_owned()
        }
        (_, SubscriptionState::Suspended) => {
            say!("Events go on making notifications; they are held until you activate it, with {waiting}.", waiting)
        }
        (_, SubscriptionState::Disabled) => {
            say!(
                "It gets no events any more, and what waits is discarded: {waiting}. To hold them, suspend it.",
                waiting
            )
        }
    }
}

/// Brings one into a state.
pub(super) async fn into_state(
    console: &Console,
    principal: &Principal,
    name: &str,
    state: SubscriptionState,
) -> malla_queue::Result<()> {
    let detail = serde_json::json!({ "state": state.name() });
    let act = Act { detail, ..Act::new(&principal.actor, "subscription.change", name) };
    let change = SubscriptionChange { state: Some(state), spec: None };
    console.notify.change_subscription(&principal.scope(), name, change, act).await.map(drop)
}

pub(crate) async fn change(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let (state, principal) = (read_state(posted.fields.typed("state"))?, &posted.visitor.principal);
    let notice = match into_state(&console, principal, &name, state).await {
        Ok(()) => Notice::good(say!("Subscription {name} is {} now.", name, state_name(state))),
        Err(error @ Error::NotFound(_)) => return Err(error.into()),
        Err(error) => Notice::bad(mendable(error)?),
    };
    Ok(go(&console, &subscription_path(&name), notice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_what_waits_is_said_before() {
        let counts = StateCounts { queued: 2, paused: 1, succeeded: 9, ..StateCounts::default() };
        for (from, to, says) in [
            (SubscriptionState::Active, SubscriptionState::Suspended, "held until you activate it, with 3 waiting"),
            (SubscriptionState::Active, SubscriptionState::Disabled, "discarded: 3 waiting notifications"),
            (SubscriptionState::Suspended, SubscriptionState::Active, "oldest first: 3 waiting notifications"),
            (SubscriptionState::Disabled, SubscriptionState::Active, "are not sent"),
        ] {
            let sentence = consequence(from, to, &counts);
            assert!(sentence.contains(says), "{sentence}");
        }
    }
}
