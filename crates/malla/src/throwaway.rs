//! A server for a while: this same program as another process, with data that are thrown away.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::data_dir::ServerFile;

const START_MAX: Duration = Duration::from_secs(30);

/// It ends, at the latest, when this is dropped.
pub(crate) struct Throwaway {
    child: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    _data: Option<TempDir>,
}

impl Throwaway {
    /// Starts one with further arguments of `malla up` and variables.
    pub(crate) async fn start(data: TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let started = Self::start_in(data.path(), arguments, variables).await?;
        Ok(Self { _data: Some(data), ..started })
    }

    /// The same on data that stay.
    pub(crate) async fn start_in(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        let log = data.join("server.log");
        let complaints = std::fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command
            .args(["up", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(arguments)
            .env("MALLA_LOG_LEVEL", "error")
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(complaints)
            .kill_on_drop(true);
        // What an earlier one left behind tells of a server that is gone.
        drop(std::fs::remove_file(data.join("server.json")));
        let mut child = command.spawn().context("cannot start a server")?;
        let began = Instant::now();
        let (url, token) = loop {
            if let Some(found) = address(data) {
                break found;
            }
            if let Some(status) = child.try_wait()? {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                bail!("the server ended at once, {status}: {}", said.lines().last().unwrap_or("it said nothing"));
            }
            if began.elapsed() > START_MAX {
                bail!("the server did not start within {START_MAX:?}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        Ok(Self { child, url, token, _data: None })
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot stop the server")
    }
}

/// Where it listens and its admin's token, once it is up.
fn address(data: &Path) -> Option<(String, String)> {
    let file: ServerFile = serde_json::from_slice(&std::fs::read(data.join("server.json")).ok()?).ok()?;
    let token = std::fs::read_to_string(data.join("admin.token")).ok()?;
    Some((file.url.trim_end_matches('/').to_owned(), token.trim().to_owned()))
}
