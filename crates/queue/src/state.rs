//! The seven states of a task and the moves between them. `docs/states.md` draws this page.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Move};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Waits in its lane, now or for a later time.
    Queued,
    /// Somebody holds a lease on it.
    Running,
    /// Held back: a person paused it, or its lane is paused.
    Paused,
    /// The far side has taken it and will confirm.
    Notified,
    Succeeded,
    /// No attempts are left; only a person resends it.
    Failed,
    /// A person, or the end of its subscription, decided that it shall not be done.
    Discarded,
}

impl State {
    pub const ALL: [State; 7] = [
        State::Queued,
        State::Running,
        State::Paused,
        State::Notified,
        State::Succeeded,
        State::Failed,
        State::Discarded,
    ];

    pub fn name(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::Paused => "paused",
            State::Notified => "notified",
            State::Succeeded => "succeeded",
            State::Failed => "failed",
            State::Discarded => "discarded",
        }
    }

    /// Nothing happens to it any more unless a person asks.
    pub fn is_final(self) -> bool {
        matches!(self, State::Succeeded | State::Failed | State::Discarded)
    }

    /// Where a person's verb leads from here; `None` if it makes no sense.
    /// (`Paused` here is a task paused by itself. Pausing a lane changes no task.)
    pub fn after(self, verb: Move) -> Option<State> {
        match (verb, self) {
            (Move::Pause, State::Queued) => Some(State::Paused),
            (Move::Resume, State::Paused) => Some(State::Queued),
            (Move::Discard, State::Queued | State::Running | State::Paused | State::Notified | State::Failed) => {
                Some(State::Discarded)
            }
            (Move::Resend, State::Succeeded | State::Failed | State::Discarded | State::Notified) => {
                Some(State::Queued)
            }
            (Move::Confirm, State::Notified) => Some(State::Succeeded),
            _ => None,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for State {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        State::ALL.into_iter().find(|state| state.name() == text).ok_or_else(|| {
            let names = State::ALL.map(State::name).join(", ");
            Error::Invalid(format!("\"{text}\" is not a state: states are {names}"))
        })
    }
}

/// How many tasks are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StateCounts {
    pub queued: u64,
    pub running: u64,
    pub paused: u64,
    pub notified: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub discarded: u64,
}

impl StateCounts {
    pub fn of(&self, state: State) -> u64 {
        match state {
            State::Queued => self.queued,
            State::Running => self.running,
            State::Paused => self.paused,
            State::Notified => self.notified,
            State::Succeeded => self.succeeded,
            State::Failed => self.failed,
            State::Discarded => self.discarded,
        }
    }

    pub fn of_mut(&mut self, state: State) -> &mut u64 {
        match state {
            State::Queued => &mut self.queued,
            State::Running => &mut self.running,
            State::Paused => &mut self.paused,
            State::Notified => &mut self.notified,
            State::Succeeded => &mut self.succeeded,
            State::Failed => &mut self.failed,
            State::Discarded => &mut self.discarded,
        }
    }

    pub fn add(&mut self, other: &StateCounts) {
        for state in State::ALL {
            *self.of_mut(state) += other.of(state);
        }
    }

    pub fn total(&self) -> u64 {
        State::ALL.into_iter().map(|state| self.of(state)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_moves_only_from_where_it_makes_sense() {
        check(Move::Pause, "queued", "paused");
        check(Move::Resume, "paused", "queued");
        check(Move::Discard, "queued running paused notified failed", "discarded");
        check(Move::Resend, "succeeded failed discarded notified", "queued");
        check(Move::Confirm, "notified", "succeeded");
    }

    fn check(verb: Move, from: &str, to: &str) {
        for state in State::ALL {
            let expected = from.split(' ').any(|name| name == state.name()).then_some(to);
            assert_eq!(state.after(verb).map(State::name), expected, "{verb:?} from {state}");
        }
    }

    #[test]
    fn states_read_back_and_others_are_named_in_the_refusal() {
        for state in State::ALL {
            assert_eq!(state.name().parse::<State>(), Ok(state));
        }
        let refusal = "done".parse::<State>().expect_err("not a state").to_string();
        assert!(refusal.contains("\"done\" is not a state") && refusal.contains("notified"), "{refusal}");
    }
}
