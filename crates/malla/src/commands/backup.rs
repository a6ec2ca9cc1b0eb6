//! `malla backup`: the embedded store in one file, also while a server works on it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use malla_queue::{Clock as _, SystemClock};
use malla_store::sqlite::backup;
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::backup_file::{self, Packed};
use crate::cli::{Place, Settings};
use crate::commands::backup_progress::{Progress, until_signal};
use crate::commands::load;
use crate::config::masked_url;
use crate::output::{Output, fields};

#[derive(Debug, Args)]
#[command(
    after_help = "The server may go on working. While it is made, a backup needs room for the whole store beside FILE.\n\nExamples:\n  malla backup /backups/malla-$(date +%F).backup\n  malla backup --data /var/lib/malla latest.backup --force --json"
)]
pub(crate) struct Command {
    /// Where to; readable by its owner only
    file: PathBuf,
    /// Replace FILE if it exists
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Made {
    file: String,
    bytes: u64,
    store_bytes: u64,
    schema: i64,
    made_at: String,
    sha256: String,
    took_ms: u128,
}

pub(crate) async fn run(place: &Place, command: Command) -> Result<()> {
    let Command { file, force, json } = command;
    let store = store_path(place, |url| {
        format!("pg_dump --format=custom --file={} --dbname={}", quoted(&file.to_string_lossy()), quoted(url))
    })?;
    if file.exists() && !force {
        bail!("{} exists: choose another name, or replace it with --force", file.display());
    }
    let began = Instant::now();
    let made = until_signal(move |progress| make(&store, &file, force, progress)).await?;
    let made = Made { took_ms: began.elapsed().as_millis(), ..made };
    Ok(Output::new(json).one(&made, describe)?)
}

/// Where the embedded store of this installation is. For PostgreSQL there is a better tool, which `instead` names.
pub(super) fn store_path(place: &Place, instead: impl FnOnce(&str) -> String) -> Result<PathBuf> {
    let url = load(place, &Settings::default())?.config()?.store_url();
    match url.strip_prefix("sqlite:") {
        Some(path) => Ok(path.into()),
        None => bail!(
            "the store is PostgreSQL, which has a tool of its own for this (the password comes from ~/.pgpass or \
             PGPASSWORD): {}",
            instead(&without_password(&url))
        ),
    }
}

fn make(store: &Path, file: &Path, force: bool, progress: &Progress) -> Result<Made> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Both are for their owner's eyes from the first moment, and go away if this fails.
    let draft = || NamedTempFile::with_prefix_in(".malla-backup-", folder);
    let cannot_write = || format!("cannot write into {}", folder.display());
    let (copy, packed) = (draft().with_context(cannot_write)?, draft().with_context(cannot_write)?);
    let made_at = SystemClock::default().now();
    let made_at = jiff::Timestamp::from_millisecond(made_at.0).unwrap_or_default().to_string();
    progress.begin("copying");
    backup::copy(store, copy.path(), |done, all| progress.step(done, all)).map_err(plain)?;
    progress.begin("checking the copy");
    let schema = backup::check(copy.path()).map_err(plain)?;
    progress.begin("packing");
    let mut step = |done, all| Ok(progress.step(done, all)?);
    let header = backup_file::pack(copy.path(), packed.as_file(), schema, made_at, &mut step)
        .with_context(|| format!("cannot write {}", file.display()))?;
    drop(copy);
    progress.begin("reading it back");
    let read = Packed::open(packed.path())?.unpack(&mut std::io::sink(), &mut step);
    let read = read.context("what was written cannot be read back")?;
    if read != header {
        bail!("what was written is not what is read back: is the disk sound?");
    }
    let bytes = packed.as_file().metadata()?.len();
    if force {
        packed.persist(file).map_err(|error| cannot_name(file, &error.error))?;
    } else {
        packed.persist_noclobber(file).map_err(|error| cannot_name(file, &error.error))?;
    }
    File::open(folder).and_then(|folder| folder.sync_all()).with_context(cannot_write)?;
    Ok(Made {
        file: file.display().to_string(),
        bytes,
        store_bytes: header.bytes,
        schema,
        made_at: header.made_at,
        sha256: header.sha256,
        took_ms: 0,
    })
}

fn cannot_name(file: &Path, error: &std::io::Error) -> anyhow::Error {
    anyhow!("the backup could not be named {}: {error}", file.display())
}

/// The sentence alone, without what a verb of the store adds for callers of the API.
pub(super) fn plain(error: malla_queue::Error) -> anyhow::Error {
    match error {
        malla_queue::Error::Unavailable(why) | malla_queue::Error::Internal(why) => anyhow!(why),
        error => error.into(),
    }
}

fn describe(made: &Made) -> String {
    let mb = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    fields(&[
        ("file", made.file.clone()),
        ("size", format!("{}, of a store of {}", mb(made.bytes), mb(made.store_bytes))),
        ("as of", made.made_at.clone()),
        ("sha256", made.sha256.clone()),
        ("took", format!("{:.1?}", Duration::from_millis(u64::try_from(made.took_ms).unwrap_or(u64::MAX)))),
    ])
}

/// The URL as it may stand in a command line that others can see.
fn without_password(url: &str) -> String {
    let masked = masked_url(url).replace(":****@", "@");
    masked.replace("password=****&", "").replace("?password=****", "").replace("&password=****", "")
}

/// As one word of a shell.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_stands_in_the_command() {
        for (url, shown) in [
            ("postgres://malla:secret@db1,db2/malla", "postgres://malla@db1,db2/malla"),
            ("postgres://malla@db/malla", "postgres://malla@db/malla"),
            ("postgres://db/malla?user=malla&password=secret", "postgres://db/malla?user=malla"),
            ("postgres://db/malla?password=secret&user=malla", "postgres://db/malla?user=malla"),
            ("postgres://db/malla?password=secret", "postgres://db/malla"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn a_word_of_a_shell_stays_one_word() {
        assert_eq!(quoted("/backups/a.dump"), "/backups/a.dump");
        assert_eq!(quoted("my file"), "'my file'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
