//! What an alert watches for.

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};

/// Without a subscription: any that the alert's group has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Rule {
    /// At least so many attempts failed in the last so many seconds, counted by whole minutes.
    Failures {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subscription: Option<String>,
        count: u64,
        window_s: u64,
    },
    /// A notification has been due for longer, and waits.
    Backlog {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subscription: Option<String>,
        older_than_s: u64,
    },
    /// It is active and has had something to deliver for so long, and no attempt has ended, well or badly.
    Stuck {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subscription: Option<String>,
        for_s: u64,
    },
}

impl Rule {
    /// Minutes are kept for two days; half of that leaves room for a late look.
    const WINDOW_S: std::ops::RangeInclusive<u64> = 60..=86_400;
    const BACKLOG_S: std::ops::RangeInclusive<u64> = 1..=30 * 86_400;

    pub fn subscription(&self) -> Option<&str> {
        match self {
            Self::Failures { subscription, .. }
            | Self::Backlog { subscription, .. }
            | Self::Stuck { subscription, .. } => subscription.as_deref(),
        }
    }

    pub fn check(&self) -> Result<()> {
        let within = |name: &str, value: u64, range: std::ops::RangeInclusive<u64>| {
            if range.contains(&value) {
                return Ok(());
            }
            Err(Error::Invalid(format!("{name} is from {} to {}", range.start(), range.end())))
        };
        match self {
            Self::Failures { count, window_s, .. } => {
                within("count", *count, 1..=1_000_000_000)?;
                within("window_s", *window_s, Self::WINDOW_S)
            }
            Self::Backlog { older_than_s, .. } => within("older_than_s", *older_than_s, Self::BACKLOG_S),
            Self::Stuck { for_s, .. } => within("for_s", *for_s, Self::WINDOW_S),
        }
    }

    /// The condition in words, of one subscription.
    pub fn in_words(&self) -> String {
        match self {
            Self::Failures { count, window_s, .. } => format!("{count} or more attempts failed in {}", span(*window_s)),
            Self::Backlog { older_than_s, .. } => {
                format!("a notification has been due for more than {}", span(*older_than_s))
            }
            Self::Stuck { for_s, .. } => format!("notifications wait and no attempt has ended for {}", span(*for_s)),
        }
    }
}

/// A time in the largest unit that says it exactly.
fn span(seconds: u64) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let (length, unit) = units.into_iter().find(|(length, _)| seconds.is_multiple_of(*length)).unwrap_or((1, "second"));
    match seconds / length {
        1 => format!("1 {unit}"),
        many => format!("{many} {unit}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_said() {
        for (text, said) in [
            (r#"{"kind":"failures","count":5,"window_s":300}"#, "5 or more attempts failed in 5 minutes"),
            (r#"{"kind":"backlog","older_than_s":3600}"#, "a notification has been due for more than 1 hour"),
            (
                r#"{"kind":"stuck","subscription":"a","for_s":90}"#,
                "notifications wait and no attempt has ended for 90 seconds",
            ),
        ] {
            let rule: Rule = serde_json::from_str(text).expect(text);
            rule.check().expect(text);
            assert_eq!(rule.in_words(), said);
        }
    }

    #[test]
    fn what_cannot_be_watched_is_refused() {
        for (text, says) in [
            (r#"{"kind":"failures","count":0,"window_s":300}"#, "count is from 1"),
            (r#"{"kind":"failures","count":1,"window_s":59}"#, "window_s is from 60 to 86400"),
            (r#"{"kind":"backlog","older_than_s":0}"#, "older_than_s is from 1"),
            (r#"{"kind":"stuck","for_s":1}"#, "for_s is from 60"),
        ] {
            let rule: Rule = serde_json::from_str(text).expect(text);
            let error = rule.check().expect_err(text).to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
