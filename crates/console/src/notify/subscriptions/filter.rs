//! Which subscriptions: read from the address, and found in a bounded look.

use std::time::Duration;

use malla_notify::{Subscription, SubscriptionState};
use malla_queue::Scope;
use tokio::time::Instant;

use crate::Console;
use crate::params::Params;
use crate::refusal::Refusal;

/// The filter's names in the address.
pub(super) const NAMES: &[&str] = &["endpoint", "state", "search"];
/// Subscriptions that are looked at in one step where only some are wanted, and steps of a look.
const STEP: usize = 500;
const STEPS_MAX: usize = 20;

#[derive(Debug, Clone)]
pub(super) struct Wanted {
    endpoint: Option<String>,
    pub(super) state: Option<SubscriptionState>,
    /// Part of its name or target, in lower case.
    search: Option<String>,
    /// The filters alone, for links.
    pub(super) params: Params,
}

pub(super) struct Found {
    pub(super) subscriptions: Vec<Subscription>,
    /// Where the next ones begin: after this name.
    pub(super) next: Option<String>,
}

pub(super) fn read_state(asked: &str) -> Result<SubscriptionState, Refusal> {
    let wrong =
        || Refusal::bad(say!("\"{asked}\" is not a state of a subscription: active, suspended or disabled", asked));
    SubscriptionState::ALL.into_iter().find(|state| state.name() == asked).ok_or_else(wrong)
}

impl Wanted {
    pub(super) fn read(params: &Params) -> Result<Self, Refusal> {
        Ok(Self {
            endpoint: params.get("endpoint").map(str::to_owned),
            state: params.get("state").map(read_state).transpose()?,
            search: params.get("search").map(str::to_lowercase),
            params: params.only(NAMES),
        })
    }

    fn fits(&self, one: &Subscription) -> bool {
        // What the target hides is not searched.
        let holds = |search: &String| {
            one.name.to_lowercase().contains(search) || one.spec.target.masked().to_lowercase().contains(search)
        };
        self.state.is_none_or(|state| one.state == state) && self.search.as_ref().is_none_or(holds)
    }

    /// At most `rows` that fit, in the order of their names, after one.
    pub(super) async fn find(
        &self,
        console: &Console,
        scope: &Scope,
        after: Option<String>,
        rows: usize,
        patience: Duration,
    ) -> malla_queue::Result<Found> {
        // One more than are wanted says that there are more.
        let step = if self.state.is_none() && self.search.is_none() { rows + 1 } else { STEP };
        let (mut found, began) = (Found { subscriptions: Vec::new(), next: after }, Instant::now());
        for _ in 0..STEPS_MAX {
            let (endpoint, after) = (self.endpoint.as_deref(), found.next.as_deref());
            let seen = console.notify.subscriptions(scope, endpoint, after, step).await?;
            found.next = seen.last().filter(|_| seen.len() == step).map(|one| one.name.clone());
            found.subscriptions.extend(seen.into_iter().filter(|one| self.fits(one)));
            if found.subscriptions.len() > rows {
                found.subscriptions.truncate(rows);
                found.next = found.subscriptions.last().map(|one| one.name.clone());
            }
            if found.next.is_none() || found.subscriptions.len() >= rows || began.elapsed() >= patience {
                break;
            }
        }
        Ok(found)
    }
}
