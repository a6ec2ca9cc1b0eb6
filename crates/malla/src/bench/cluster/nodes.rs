//! Nodes that work: this same program as other processes, each with a data directory and a way to the store of its own.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::far::Far;

const START_MAX: Duration = Duration::from_secs(20);
/// What is in hand takes a moment; who takes longer is killed.
const STOP_MAX: Duration = Duration::from_secs(4);

/// How nodes are started.
pub(super) struct Kind {
    pub(super) role: &'static str,
    /// Settings of theirs, as variables.
    pub(super) settings: Vec<(&'static str, String)>,
}

/// It is killed when this is dropped.
pub(super) struct Node {
    child: Child,
    last_line: Arc<Mutex<String>>,
    _way: Option<Far>,
    _data: TempDir,
}

impl Node {
    /// Starts one that finds the store at `url`, and waits until it is a member.
    pub(super) async fn start(kind: &Kind, url: &str, way: Option<Far>) -> Result<Self> {
        let data = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command
            .args(["up", "--listen", "127.0.0.1:0", "--roles", kind.role, "--data"])
            .arg(data.path())
            // It may hold a password, which has no place in a list of processes.
            .env("MALLA_STORE", url)
            .env("MALLA_LOG_LEVEL", "error")
            .envs(kind.settings.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().context("cannot start a node")?;
        let (last_line, (up, is_up)) = (Arc::new(Mutex::new(String::new())), oneshot::channel());
        let said = child.stderr.take().context("a node says nothing")?;
        tokio::spawn(listen(said, up, last_line.clone()));
        let mut node = Self { child, last_line, _way: way, _data: data };
        match timeout(START_MAX, is_up).await {
            Ok(Ok(())) => Ok(node),
            Ok(Err(_)) => {
                let _ = node.child.wait().await;
                bail!("a node ended at once: {}", node.last_line())
            }
            Err(_) => bail!("a node did not start within {START_MAX:?}"),
        }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Fails if it ended by itself.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("a node ended: {status}: {}", self.last_line()),
            None => Ok(()),
        }
    }

    fn last_line(&self) -> String {
        self.last_line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Ends all of them in order, so that nothing stays in the hand of one that is gone.
pub(super) async fn stop(mut nodes: Vec<Node>) -> Result<()> {
    for node in &nodes {
        // One that was waited for has no number any more, so nobody else is hit.
        if let Some(pid) = node.pid().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
            kill_process(pid, Signal::TERM).context("cannot stop a node")?;
        }
    }
    for node in &mut nodes {
        if timeout(STOP_MAX, node.child.wait()).await.is_err() {
            node.child.kill().await.context("cannot stop a node")?;
        }
    }
    Ok(())
}

/// Waits for the line that every process says when it is up, and keeps the last one in case that it fails.
async fn listen(said: ChildStderr, up: oneshot::Sender<()>, last_line: Arc<Mutex<String>>) {
    let (mut lines, mut up) = (BufReader::new(said).lines(), Some(up));
    while let Ok(Some(line)) = lines.next_line().await {
        if line.starts_with("malla is up")
            && let Some(up) = up.take()
        {
            let _ = up.send(());
        }
        *last_line.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}
