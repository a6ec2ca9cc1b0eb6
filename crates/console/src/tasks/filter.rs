//! Which tasks: read from the address, told in words, counted where counters know.

use malla_queue::{Error, Kind, Move, Room, State, StateCounts, TaskFilter};

use crate::Console;
use crate::caller::Person;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::{groups, parts, words};

/// The filter's names in the address.
pub(crate) const NAMES: &[&str] = &["state", "room", "kind", "lane", "group", "parent", "from", "to"];

/// A filter with the fields it was read from.
pub(crate) struct Wanted {
    pub(crate) filter: TaskFilter,
    /// The fields of the filter and no others: links are made from these.
    pub(crate) params: Params,
}

impl Wanted {
    pub(crate) async fn read(console: &Console, person: &Person, params: &Params) -> Result<Self, Refusal> {
        let params = params.only(NAMES);
        let scope = person.principal.scope();
        let group = match params.get("group") {
            Some(name) => Some(groups::named(console, &scope, name).await?),
            None => None,
        };
        let filter = TaskFilter {
            scope,
            group,
            states: params.all("state").map(str::parse).collect::<Result<_, Error>>()?,
            room: params.get("room").map(Room::new).transpose()?.map(|room| room.to_string()),
            kind: params.get("kind").map(Kind::new),
            lane: params.get("lane").map(str::parse).transpose()?,
            parent: params.get("parent").map(str::parse).transpose()?,
            from: params.time("from")?,
            to: params.time("to")?,
        };
        Ok(Self { filter, params })
    }

    /// How many match in each state; `None` where no counter knows.
    pub(crate) async fn counts(&self, console: &Console) -> Result<Option<StateCounts>, Refusal> {
        let TaskFilter { scope, room, kind, lane, group, parent, from, to, .. } = &self.filter;
        if room.is_some() || group.is_some() || parent.is_some() || from.is_some() || to.is_some() {
            return Ok(None);
        }
        let counts = match (lane, kind) {
            (Some(_), Some(_)) => return Ok(None),
            (Some(lane), None) => match console.queue.lane(scope, lane).await {
                Ok(lane) => lane.counts,
                Err(Error::NotFound(_)) => StateCounts::default(),
                Err(error) => return Err(error.into()),
            },
            (None, kind) => {
                let mut sum = StateCounts::default();
                let rows = console.queue.counts(scope).await?;
                rows.iter().filter(|row| kind.as_ref().is_none_or(|kind| *kind == row.kind)).for_each(|row| {
                    sum.add(&row.counts);
                });
                sum
            }
        };
        Ok(Some(counts))
    }

    /// The states of the filter from which `verb` leads somewhere.
    pub(crate) fn states_for(&self, verb: Move) -> Vec<State> {
        self.filter.narrowed_to(verb).map(|filter| filter.states).unwrap_or_default()
    }

    /// The filter as a list of conditions for people.
    pub(crate) fn conditions(&self) -> Vec<(Text, String)> {
        let TaskFilter { states, room, kind, lane, parent, from, to, .. } = &self.filter;
        let states: Vec<&str> = states.iter().map(|state| parts::state_name(*state)).collect();
        let conditions = [
            (key!("state"), (!states.is_empty()).then(|| states.join(t!(" or ")))),
            (key!("room"), room.clone()),
            (key!("kind"), kind.as_ref().map(Kind::to_string)),
            (key!("lane"), lane.as_ref().map(ToString::to_string)),
            (key!("group"), self.params.get("group").map(str::to_owned)),
            (key!("parent"), parent.map(|id| id.to_string())),
            (key!("from"), from.map(words::full)),
            (key!("before"), to.map(words::full)),
        ];
        conditions.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
