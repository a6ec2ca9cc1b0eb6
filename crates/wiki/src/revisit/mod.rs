//! Which pages are looked at again, and when: rules as pure functions, a game that judges them on recorded edits, and the
//! planner that applies one to the pages that are kept.

#[cfg(test)]
mod generate;
mod planner;
mod rules;
mod simulate;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::str::FromStr;

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::page::PageId;
use crate::site::WikiId;

pub use malla_pulse::{Seen, urgency};
pub use planner::{Planner, PlannerOptions};
pub use rules::{original_is_due, pulse_length};
pub use simulate::{Judged, simulate};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// A page is due when it is silent for longer than its mean time between edits, looked at once a day. There is no budget.
    Original,
    /// Every page in turn.
    Uniform,
    /// Where an edit is likeliest to have been missed for longest.
    Adaptive,
}

impl Rule {
    pub const ALL: [Self; 3] = [Self::Original, Self::Uniform, Self::Adaptive];

    pub fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Uniform => "uniform",
            Self::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Invalid(format!("\"{text}\" is not a rule of revisits: original, uniform or adaptive"));
        Self::ALL.into_iter().find(|rule| rule.name() == text).ok_or_else(wrong)
    }
}

/// The same for all visits of a page, so that one answers for the others.
pub(crate) fn visit_key(wiki: WikiId, pageid: PageId) -> String {
    format!("visit {wiki} {}", pageid.0)
}
