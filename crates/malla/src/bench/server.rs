//! A server of the benchmark's own: this same program as another process, with a store that may be thrown away.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::report::memory_of;
use super::wire::Caller;
use crate::data_dir::ServerFile;

const START_MAX: Duration = Duration::from_secs(30);

pub(super) struct Server {
    child: Child,
    host: String,
    token: String,
    _data: TempDir,
}

impl Server {
    /// `store` is empty for the embedded one.
    pub(super) async fn start(store: &str) -> Result<Self> {
        let data = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command
            .args(["up", "--listen", "127.0.0.1:0", "--data"])
            .arg(data.path())
            .env("MALLA_ALLOW_PRIVATE", "true")
            .env("MALLA_LOG_LEVEL", "error")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if !store.is_empty() {
            command.args(["--store", store]);
        }
        let mut child = command.spawn().context("cannot start a server")?;
        let began = Instant::now();
        let (host, token) = loop {
            if let Some(found) = address(data.path()) {
                break found;
            }
            if let Some(status) = child.try_wait()? {
                bail!("the server ended at once: {status}");
            }
            if began.elapsed() > START_MAX {
                bail!("the server did not start within {START_MAX:?}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        Ok(Self { child, host, token, _data: data })
    }

    pub(super) async fn caller(&self) -> Result<Caller> {
        Caller::connect(&self.host, &self.token).await
    }

    pub(super) fn memory_mb(&self) -> f64 {
        self.child.id().map_or(0.0, |pid| memory_of(&pid.to_string()))
    }

    pub(super) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot stop the server")
    }
}

/// Where it listens and its admin's token, once it is up.
fn address(data: &Path) -> Option<(String, String)> {
    let file: ServerFile = serde_json::from_slice(&std::fs::read(data.join("server.json")).ok()?).ok()?;
    let token = std::fs::read_to_string(data.join("admin.token")).ok()?;
    Some((file.url.trim_start_matches("http://").trim_end_matches('/').to_owned(), token.trim().to_owned()))
}
