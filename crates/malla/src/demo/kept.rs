//! What a demo remembers from one start to the next, beside what the server keeps: `demo.json` in its data directory.

use std::path::Path;

use anyhow::{Context as _, Result};
use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

use crate::commands::Usage;
use crate::data_dir::{make, read_line, write_whole};

const FILE: &str = "demo.json";
/// The embedded store, which a demo shares with nobody.
const STORE: &str = "malla.db";

/// (Not `Debug`: it holds secrets.)
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Where the sites, the wiki and the receivers are: their addresses must not change.
    pub port: u16,
    /// When it was first started, in seconds: histories of the wiki end there.
    pub began: i64,
    /// The admin's, to be told again.
    pub password: Option<String>,
    /// The token of the devices.
    pub volunteers: Option<String>,
}

impl Kept {
    /// `None` if the directory is new. One that holds something else is left alone.
    pub(super) fn read(data: &Path) -> Result<Option<Self>> {
        let path = data.join(FILE);
        let line = read_line(&path).with_context(|| format!("cannot read {}", path.display()))?;
        match line {
            Some(line) => serde_json::from_str(&line)
                .map(Some)
                .with_context(|| format!("{} is damaged: delete {} to begin anew", path.display(), data.display())),
            None if data.join(STORE).exists() => {
                let text = "holds an installation that is no demo: choose another directory with --data";
                Err(Usage(format!("{} {text}", data.display())).into())
            }
            None => Ok(None),
        }
    }

    /// Before the store is made, so that the directory is known for what it is.
    pub(super) fn begin(data: &Path, port: u16, now: UnixMs) -> Result<Self> {
        let data = make(data)?;
        let kept = Self { port, began: now.0 / 1_000, password: None, volunteers: None };
        kept.write(&data)?;
        Ok(kept)
    }

    pub(super) fn write(&self, data: &Path) -> Result<()> {
        let path = data.join(FILE);
        let text = serde_json::to_string(self)? + "\n";
        write_whole(&path, &text, 0o600).with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_is_known_again_and_nothing_else_is_taken_for_one() {
        let place = tempfile::tempdir().expect("a directory");
        let data = place.path().join("demo");
        assert!(Kept::read(&data).expect("new").is_none());
        Kept::begin(&data, 4_321, UnixMs(1_700_000_000_000)).expect("written");
        std::fs::write(data.join(STORE), "").expect("written");
        let kept = Kept::read(&data).expect("reads").expect("a demo");
        assert_eq!((kept.port, kept.began), (4_321, 1_700_000_000));
        std::fs::remove_file(data.join(FILE)).expect("removed");
        let refusal = Kept::read(&data).err().expect("refused");
        assert!(refusal.is::<Usage>() && refusal.to_string().contains("is no demo"), "{refusal}");
    }
}
