//! How states, retry delays and roles lie in the store. `queued` and `running` are one code: a lease makes the difference, so that leasing
//! never writes to a task row.

use malla_access::Role;
use malla_queue::{Error, Result, RetryDelays, State};

/// The state column of a task row, and the index of its counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Open = 0,
    Paused = 1,
    Notified = 2,
    Succeeded = 3,
    Failed = 4,
    Discarded = 5,
}

pub(crate) const CODES: usize = 6;

impl Code {
    pub(crate) fn of(state: State) -> Self {
        match state {
            State::Queued | State::Running => Code::Open,
            State::Paused => Code::Paused,
            State::Notified => Code::Notified,
            State::Succeeded => Code::Succeeded,
            State::Failed => Code::Failed,
            State::Discarded => Code::Discarded,
        }
    }

    pub(crate) fn read(code: i64) -> Self {
        match code {
            0 => Code::Open,
            1 => Code::Paused,
            2 => Code::Notified,
            3 => Code::Succeeded,
            4 => Code::Failed,
            _ => Code::Discarded,
        }
    }

    /// The state of the task itself, whatever its lane does.
    pub(crate) fn own_state(self, leased: bool) -> State {
        match self {
            Code::Open if leased => State::Running,
            Code::Open => State::Queued,
            Code::Paused => State::Paused,
            Code::Notified => State::Notified,
            Code::Succeeded => State::Succeeded,
            Code::Failed => State::Failed,
            Code::Discarded => State::Discarded,
        }
    }

    /// The state as people see it: what waits in a paused lane is paused.
    pub(crate) fn shown_state(self, leased: bool, lane_paused: bool) -> State {
        match self.own_state(leased) {
            State::Queued if lane_paused => State::Paused,
            state => state,
        }
    }
}

pub(crate) fn read_retry(text: Option<&str>) -> Result<RetryDelays> {
    text.map_or(Ok(RetryDelays::none()), |text| {
        serde_json::from_str(text).map_err(|error| Error::Internal(format!("retry delays: {error}")))
    })
}

/// No delays, the common case, take no room.
pub(crate) fn write_retry(delays: &RetryDelays) -> Option<String> {
    let delays = delays.as_millis();
    (!delays.is_empty()).then(|| serde_json::to_string(delays).expect("numbers are JSON"))
}

/// A role that this program does not know may do nothing but look.
pub(crate) fn read_role(name: &str) -> Role {
    name.parse().unwrap_or(Role::Readonly)
}
