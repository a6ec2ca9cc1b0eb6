//! `malla restore`: a backup becomes the embedded store of a data directory that no server works on.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use malla_store::sqlite::backup;
use serde::Serialize;

use crate::backup_file::{Header, Packed};
use crate::cli::{Place, Settings};
use crate::commands::backup::{plain, quoted, store_path};
use crate::commands::backup_progress::{Progress, until_signal};
use crate::commands::load;
use crate::data_dir::DataDir;
use crate::output::{Output, fields};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla restore --check latest.backup                       is it whole?\n  malla restore --data /tmp/drill latest.backup              try it out: malla up --data /tmp/drill --roles api\n  malla restore --data /var/lib/malla latest.backup --force  go back to it"
)]
pub(crate) struct Command {
    /// A file that `malla backup` made
    file: PathBuf,
    /// Replace the store that is there; it is kept beside the new one
    #[arg(long, conflicts_with = "check")]
    force: bool,
    /// Only see whether the file is whole
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Restored {
    /// `None` if the file was only checked.
    store: Option<String>,
    made_at: String,
    program: String,
    schema: i64,
    store_bytes: u64,
    sha256: String,
    /// Where the store is that was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

pub(crate) async fn run(place: &Place, command: Command) -> Result<()> {
    let Command { file, force, check, json } = command;
    let restored = if check {
        until_signal(move |progress| read(&file, progress)).await?
    } else {
        let store = store_path(place, |url| {
            format!(
                "pg_restore --clean --if-exists --single-transaction --dbname={} {}",
                quoted(url),
                quoted(&file.to_string_lossy())
            )
        })?;
        let data = load(place, &Settings::default())?.config()?.data;
        until_signal(move |progress| restore(&file, &data, &store, force, progress)).await?
    };
    Ok(Output::new(json).one(&restored, describe)?)
}

/// Reads all of a backup and changes nothing.
fn read(file: &Path, progress: &Progress) -> Result<Restored> {
    progress.begin("reading");
    let mut step = |done, all| Ok(progress.step(done, all)?);
    let header = Packed::open(file)?.unpack(&mut std::io::sink(), &mut step).with_context(|| shown(file))?;
    Ok(restored(None, header, None))
}

fn restore(file: &Path, data: &Path, store: &Path, force: bool, progress: &Progress) -> Result<Restored> {
    let packed = Packed::open(file)?;
    let _held = DataDir::take(data)?;
    let there = store.exists();
    if there && !force {
        bail!("{} exists: choose another directory with --data, or replace it with --force", store.display());
    }
    let draft = Draft::new(store)?;
    progress.begin("unpacking");
    let mut step = |done, all| Ok(progress.step(done, all)?);
    let header = packed.unpack(&mut &draft.file, &mut step).with_context(|| shown(file))?;
    draft.file.sync_all().with_context(|| format!("cannot write {}", draft.path.display()))?;
    progress.begin("checking");
    if backup::check(&draft.path).map_err(plain)? != header.schema {
        bail!("{} is damaged: it does not hold what it says", file.display());
    }
    progress.step(header.bytes, header.bytes)?;
    backup::replace(store, &draft.path).map_err(plain)?;
    Ok(restored(Some(store), header, there.then(|| backup::kept_at(store))))
}

/// The new store until it takes its place. It goes away if that never happens.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    fn new(store: &Path) -> Result<Self> {
        let path = PathBuf::from(format!("{}.restoring", store.display()));
        // Of one that was killed: the directory is ours now.
        let _ = fs::remove_file(&path);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let file = made.with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path, file })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn shown(file: &Path) -> String {
    format!("{} cannot be restored", file.display())
}

fn restored(store: Option<&Path>, header: Header, kept: Option<PathBuf>) -> Restored {
    let Header { program, schema, made_at, bytes, sha256, .. } = header;
    let shown = |path: &Path| path.display().to_string();
    Restored {
        store: store.map(shown),
        made_at,
        program,
        schema,
        store_bytes: bytes,
        sha256,
        kept: kept.as_deref().map(shown),
    }
}

fn describe(restored: &Restored) -> String {
    let mut lines = vec![
        ("as of", restored.made_at.clone()),
        ("made by", format!("malla {}, schema {}", restored.program, restored.schema)),
        ("size", format!("{:.1} MB", restored.store_bytes as f64 / 1e6)),
        ("sha256", restored.sha256.clone()),
    ];
    match &restored.store {
        Some(store) => lines.insert(0, ("restored", store.clone())),
        None => lines.insert(0, ("whole", "yes; nothing was changed".into())),
    }
    if let Some(kept) = &restored.kept {
        lines.push(("before", format!("{kept} (remove it when all is well)")));
    }
    fields(&lines)
}
