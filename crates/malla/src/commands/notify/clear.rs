//! `--clear`: fields of a change that go back to their default.

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::commands::Usage;

#[derive(Debug, Args)]
pub(super) struct Clear {
    /// Fields to clear or set back to their default, by their names in the API; several with commas
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',')]
    clear: Vec<String>,
}

impl Clear {
    /// The change with null for each field to clear. A change of nothing is wrong usage.
    pub(super) fn apply<T: Serialize + DeserializeOwned + Default + PartialEq>(&self, change: T) -> anyhow::Result<T> {
        let mut fields = serde_json::to_value(&change).context("the change cannot be written")?;
        for name in &self.clear {
            if !fields[name].is_null() {
                return Err(Usage(format!("{name} is both set and cleared: choose one")).into());
            }
            fields[name] = Value::Null;
        }
        let change: T = serde_json::from_value(fields).map_err(|error| Usage(format!("--clear: {error}")))?;
        if change == T::default() {
            return Err(Usage("say what to change: --help lists the flags".into()).into());
        }
        Ok(change)
    }
}

#[cfg(test)]
mod tests {
    use malla_protocol::SubscriptionChange;

    use super::*;

    #[test]
    fn what_is_cleared_is_null_and_must_be_known() {
        let change = SubscriptionChange { timeout_s: Some(Some(5)), ..SubscriptionChange::default() };
        let clear = |name: &str| Clear { clear: vec![name.to_owned()] }.apply(change.clone());
        let cleared = clear("secret").expect("a field");
        assert_eq!((cleared.secret, cleared.timeout_s), (Some(None), Some(Some(5))));
        let refusal = |name| clear(name).err().expect("refused").to_string();
        assert!(refusal("colour").contains("unknown field `colour`"));
        assert!(refusal("timeout_s").contains("both set and cleared"));
        let nothing = Clear { clear: Vec::new() }.apply(SubscriptionChange::default());
        assert!(nothing.err().expect("refused").to_string().contains("say what to change"));
    }
}
