//! The data directory: made, locked by one process (or by one a slot, under a medic), and the small files in it that
//! commands on this machine read.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow};
use malla_cluster::{MemberId, Slot};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

const LOCK: &str = "malla.lock";
/// Held by the one of a medic's processes that looks whether this is the first start.
const FIRST_RUN: &str = "first-run";
/// Between two looks whether a lock is free.
const LOCK_AGAIN: Duration = Duration::from_millis(50);
const FIRST_RUN_MAX: Duration = Duration::from_secs(60);
const SERVER: &str = "server.json";
const MEMBER: &str = "member.json";
const ADMIN_TOKEN: &str = "admin.token";
/// A token that the store may or may not know yet.
const ADMIN_TOKEN_NEW: &str = "admin.token.new";

/// Whole files here are a line or two; more is not ours.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// How commands on this machine reach the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFile {
    pub url: String,
    pub pid: u32,
    /// The authority to trust, if it speaks HTTPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

/// As what a process was known in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemberFile {
    pub id: MemberId,
    pub name: String,
}

/// A data directory that belongs to this process until it ends, or a slot in one.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    /// The directory is a medic's, and so is the file that says where the server is.
    in_slot: bool,
    /// Held, not read: the kernel frees the lock with the process, however that ends.
    _lock: File,
}

impl DataDir {
    /// Makes the directory if need be and takes it.
    pub(crate) fn take(path: &Path) -> Result<Self> {
        let path = make(path)?;
        match lock(&path, LOCK)? {
            Ok(lock) => Ok(Self { path, in_slot: false, _lock: lock }),
            Err(mut held) => Err(taken(&path, &mut held)),
        }
    }

    /// Takes a slot in the directory of a medic. The one before in it may need this long to end.
    pub(crate) async fn take_slot(path: &Path, slot: &Slot, patience: Duration) -> Result<Self> {
        let path = make(path)?;
        let lock = lock_when_free(&path, &format!("{LOCK}.{slot}"), patience).await?;
        Ok(Self { path, in_slot: true, _lock: lock })
    }

    /// A turn to look whether this is the first start: processes in several slots may start at once. It ends when it is
    /// dropped.
    pub(crate) async fn first_run_turn(&self) -> Result<File> {
        lock_when_free(&self.path, &format!("{LOCK}.{FIRST_RUN}"), FIRST_RUN_MAX).await
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write_server(&self, server: &ServerFile) -> Result<()> {
        if self.in_slot {
            return Ok(());
        }
        let text = serde_json::to_string(server)? + "\n";
        write_whole(&self.path.join(SERVER), &text, 0o644).map_err(|error| explain(&self.path, &error))
    }

    /// What it says is no longer true.
    pub(crate) fn remove_server(&self) {
        if !self.in_slot {
            let _ = fs::remove_file(self.path.join(SERVER));
        }
    }

    /// For the next process on this directory. A slot's processes are known to their medic.
    pub(crate) fn write_member(&self, member: &MemberFile) -> Result<()> {
        if self.in_slot {
            return Ok(());
        }
        let text = serde_json::to_string(member)? + "\n";
        write_whole(&self.path.join(MEMBER), &text, 0o644).map_err(|error| explain(&self.path, &error))
    }

    /// The last process on this directory. It is dead: the directory is ours.
    pub(crate) fn last_member(&self) -> Option<MemberFile> {
        let line = read_line(&self.path.join(MEMBER)).ok().flatten().filter(|_| !self.in_slot)?;
        serde_json::from_str(&line).ok()
    }

    pub(crate) fn has_admin_token(&self) -> bool {
        self.path.join(ADMIN_TOKEN).exists()
    }

    /// A token that was on its way when the process ended.
    pub(crate) fn unsettled_admin_token(&self) -> Result<Option<String>> {
        read_line(&self.path.join(ADMIN_TOKEN_NEW)).map_err(|error| explain(&self.path, &error))
    }

    /// Keeps a token that the store does not know yet, so that a crash in between loses nothing.
    pub(crate) fn prepare_admin_token(&self, token: &str) -> Result<()> {
        let path = self.path.join(ADMIN_TOKEN_NEW);
        write_whole(&path, &format!("{token}\n"), 0o600).map_err(|error| explain(&self.path, &error))
    }

    /// The store knows the prepared token.
    pub(crate) fn settle_admin_token(&self) -> Result<()> {
        let settled = fs::rename(self.path.join(ADMIN_TOKEN_NEW), self.path.join(ADMIN_TOKEN));
        settled.and_then(|()| sync_directory(&self.path)).map_err(|error| explain(&self.path, &error))
    }

    pub(crate) fn drop_prepared_admin_token(&self) {
        let _ = fs::remove_file(self.path.join(ADMIN_TOKEN_NEW));
    }
}

/// The server that runs on `data`, if one does.
pub(crate) fn read_server(data: &Path) -> Result<Option<ServerFile>> {
    let path = data.join(SERVER);
    let Some(line) = read_line(&path).map_err(|error| anyhow!("cannot read {}: {error}", path.display()))? else {
        return Ok(None);
    };
    serde_json::from_str(&line).map(Some).map_err(|error| anyhow!("{} is damaged: {error}", path.display()))
}

pub(crate) fn read_admin_token(data: &Path) -> Result<Option<String>> {
    let path = data.join(ADMIN_TOKEN);
    read_line(&path).map_err(|error| anyhow!("cannot read {}: {error}", path.display()))
}

pub(crate) fn read_line(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// Writes a file so that others see all of it or nothing, with its mode from the first moment.
pub(crate) fn write_whole(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let _ = fs::remove_file(&draft);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
    let written =
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written?;
    path.parent().map_or(Ok(()), sync_directory)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes the directory if need be.
pub(crate) fn make(path: &Path) -> Result<PathBuf> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.and_then(|()| path.canonicalize()).map_err(|error| explain(path, &error))
}

/// The lock, or the file that says who has it.
fn lock(path: &Path, name: &str) -> Result<Result<File, File>> {
    let trouble = |error: io::Error| explain(path, &error);
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut lock = open.open(path.join(name)).map_err(trouble)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Err(lock)),
        Err(TryLockError::Error(error)) => return Err(trouble(error)),
    }
    let written = lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| writeln!(lock, "{}", std::process::id()));
    written.and_then(|()| lock.sync_all()).map_err(trouble)?;
    Ok(Ok(lock))
}

async fn lock_when_free(path: &Path, name: &str, patience: Duration) -> Result<File> {
    let deadline = Instant::now() + patience;
    loop {
        match lock(path, name)? {
            Ok(lock) => return Ok(lock),
            Err(mut held) if Instant::now() >= deadline => return Err(taken(&path.join(name), &mut held)),
            Err(_) => tokio::time::sleep(LOCK_AGAIN).await,
        }
    }
}

fn taken(path: &Path, lock: &mut File) -> anyhow::Error {
    let mut holder = String::new();
    let _ = lock.take(32).read_to_string(&mut holder);
    let holder = match holder.trim() {
        "" => String::new(),
        pid => format!(" (process {pid})"),
    };
    anyhow!(
        "{} is in use by another malla{holder}: stop that one, or choose another directory with --data",
        path.display()
    )
}

/// One sentence for what is wrong with the directory.
fn explain(path: &Path, error: &io::Error) -> anyhow::Error {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            anyhow!("{path} is not a directory: choose another one with --data")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            anyhow!("{path} cannot be written ({error}): allow it, or choose another directory with --data")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            anyhow!("the disk of {path} is full: free some space, or choose another directory with --data")
        }
        _ => anyhow!("{path} cannot be used: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("is there").permissions().mode() & 0o777
    }

    #[test]
    fn one_process_has_the_directory_and_the_next_is_told_who() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("deep/data");
        let held = DataDir::take(&path).expect("taken");
        assert_eq!(mode(&path), 0o700);
        let refusal = DataDir::take(&path).expect_err("refused").to_string();
        assert!(refusal.contains(&format!("process {}", std::process::id())), "{refusal}");
        drop(held);
        DataDir::take(&path).expect("free again");
    }

    #[tokio::test]
    async fn a_slot_is_free_beside_the_medic_and_waits_for_the_one_before() {
        let parent = tempfile::tempdir().expect("a directory");
        let _medic = DataDir::take(parent.path()).expect("taken");
        let slot: Slot = "api-1".parse().expect("a slot");
        let take = |patience| DataDir::take_slot(parent.path(), &slot, patience);
        let before = take(Duration::ZERO).await.expect("free");
        let refusal = take(Duration::ZERO).await.expect_err("refused").to_string();
        assert!(refusal.contains("malla.lock.api-1"), "{refusal}");
        let (next, ()) = tokio::join!(take(Duration::from_secs(30)), async move { drop(before) });
        let next = next.expect("free again");
        next.write_server(&ServerFile { url: "http://127.0.0.1:1".into(), pid: 7, ca: None }).expect("the medic's");
        assert_eq!(read_server(next.path()).expect("reads"), None);
    }

    #[test]
    fn what_is_no_directory_or_cannot_be_written_gets_one_sentence() {
        let parent = tempfile::tempdir().expect("a directory");
        let file = parent.path().join("file");
        fs::write(&file, "").expect("written");
        check(&file, "is not a directory");
        check(&file.join("below"), "is not a directory");
        check(Path::new("/proc/malla-data"), "/proc/malla-data");
    }

    fn check(path: &Path, words: &str) {
        let refusal = DataDir::take(path).expect_err("refused").to_string();
        assert!(refusal.contains(words) && !refusal.contains('\n'), "{refusal}");
    }

    #[test]
    fn files_are_private_from_the_start_and_read_back() {
        let parent = tempfile::tempdir().expect("a directory");
        let data = DataDir::take(parent.path()).expect("taken");
        assert_eq!(read_admin_token(data.path()).expect("reads"), None);
        data.prepare_admin_token("malla_x").expect("written");
        assert_eq!(mode(&data.path().join(ADMIN_TOKEN_NEW)), 0o600);
        assert_eq!(data.unsettled_admin_token().expect("reads").as_deref(), Some("malla_x"));
        assert!(!data.has_admin_token());
        data.settle_admin_token().expect("renamed");
        assert_eq!(mode(&data.path().join(ADMIN_TOKEN)), 0o600);
        assert_eq!(read_admin_token(data.path()).expect("reads").as_deref(), Some("malla_x"));
        assert_eq!(data.unsettled_admin_token().expect("reads"), None);

        let server = ServerFile { url: "http://127.0.0.1:1".into(), pid: 7, ca: None };
        data.write_server(&server).expect("written");
        data.write_server(&server).expect("written over");
        assert_eq!(read_server(data.path()).expect("reads"), Some(server));
        data.remove_server();
        assert_eq!(read_server(data.path()).expect("reads"), None);

        assert_eq!(data.last_member(), None);
        let member = MemberFile { id: MemberId(7), name: "host-1".into() };
        data.write_member(&member).expect("written");
        assert_eq!(data.last_member(), Some(member));
    }
}
