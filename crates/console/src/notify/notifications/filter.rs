//! Which notifications: read from the address, told in words, counted where counters know.

use malla_notify::{DELIVER, NotificationFilter, lane_of};
use malla_queue::{Error, EventId, Move, State, StateCounts, TaskFilter};

use crate::Console;
use crate::caller::Person;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::{parts, words};

/// The filter's names in the address.
pub(super) const NAMES: &[&str] = &["state", "content", "subscription", "endpoint", "event", "from", "to"];

/// A filter with the fields it was read from.
pub(super) struct Wanted {
    pub(super) filter: NotificationFilter,
    /// The fields of the filter and no others: links are made from these.
    pub(super) params: Params,
}

impl Wanted {
    pub(super) fn read(person: &Person, params: &Params) -> Result<Self, Refusal> {
        let params = params.only(NAMES);
        let text = |name: &str| params.get(name).map(str::to_owned);
        let filter = NotificationFilter {
            scope: person.principal.scope(),
            states: params.all("state").map(str::parse).collect::<Result<_, Error>>()?,
            subscription: text("subscription"),
            endpoint: text("endpoint"),
            event: params.get("event").map(str::parse::<EventId>).transpose()?,
            content: text("content"),
            from: params.time("from")?,
            to: params.time("to")?,
        };
        Ok(Self { filter, params })
    }

    /// How many match in each state; `None` where no counter knows.
    pub(super) async fn counts(&self, console: &Console) -> Result<Option<StateCounts>, Refusal> {
        let NotificationFilter { scope, subscription, endpoint, event, content, from, to, .. } = &self.filter;
        if endpoint.is_some() || event.is_some() || content.is_some() || from.is_some() || to.is_some() {
            return Ok(None);
        }
        if let Some(name) = subscription {
            return match console.queue.lane(scope, &lane_of(name)).await {
                Ok(lane) => Ok(Some(lane.counts)),
                Err(Error::NotFound(_)) => Ok(Some(StateCounts::default())),
                Err(error) => Err(error.into()),
            };
        }
        let kinds = console.queue.counts(scope).await?;
        let own = kinds.into_iter().find(|row| row.kind.as_str() == DELIVER);
        Ok(Some(own.map(|row| row.counts).unwrap_or_default()))
    }

    /// The states from which `verb` leads somewhere. Nobody means what has arrived when they resend all that match,
    /// unless they say so.
    pub(super) fn states_for(&self, verb: Move) -> Vec<State> {
        if verb == Move::Resend && self.filter.states.is_empty() {
            return vec![State::Failed];
        }
        let asked = TaskFilter { states: self.filter.states.clone(), ..TaskFilter::all(self.filter.scope.clone()) };
        asked.narrowed_to(verb).map(|filter| filter.states).unwrap_or_default()
    }

    /// The filter as a list of conditions for people.
    pub(super) fn conditions(&self) -> Vec<(Text, String)> {
        let NotificationFilter { states, subscription, endpoint, event, content, from, to, .. } = &self.filter;
        let states: Vec<&str> = states.iter().map(|state| parts::state_name(*state)).collect();
        let conditions = [
            (key!("state"), (!states.is_empty()).then(|| states.join(t!(" or ")))),
            (key!("content"), content.clone()),
            (key!("subscription"), subscription.clone()),
            (key!("endpoint"), endpoint.clone()),
            (key!("event"), event.map(|id| id.to_string())),
            (key!("from"), from.map(words::full)),
            (key!("before"), to.map(words::full)),
        ];
        conditions.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
