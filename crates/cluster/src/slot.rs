//! A place for a process on a medic's machine.

use std::fmt;
use std::str::FromStr;

/// It has a lock and devices of its own, so one process is in it at a time; the next one there is known again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    pub role: String,
    /// From one.
    pub number: u32,
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.role, self.number)
    }
}

impl FromStr for Slot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |role: &&str| !role.is_empty() && role.bytes().all(|byte| byte.is_ascii_lowercase());
        let parsed = text.rsplit_once('-').and_then(|(role, number)| {
            let role = Some(role).filter(plain)?.to_owned();
            Some(Self { role, number: number.parse().ok().filter(|number| *number > 0)? })
        });
        parsed.ok_or_else(|| format!("\"{text}\" is not a slot: one looks like notifier-1"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_a_role_and_a_number() {
        let slot: Slot = "notifier-12".parse().expect("a slot");
        assert_eq!((slot.role.as_str(), slot.number, slot.to_string()), ("notifier", 12, "notifier-12".into()));
        for wrong in ["", "notifier", "notifier-", "notifier-0", "-1", "../x-1", "notifier--1"] {
            wrong.parse::<Slot>().expect_err(wrong);
        }
    }
}
