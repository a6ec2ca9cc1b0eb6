//! Data sets through the whole service: `malla bikes` as a process of its own, a server with durable batches, the answers.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tokio::process::Command;

use super::analyze::{SEED, answers_of};
use super::report::{Report, cpu_of, peak_of};
use crate::throwaway::Throwaway;

/// How often the client's memory is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Sends data sets of these sizes, each to a server of its own on `store`, empty for the embedded one.
pub(crate) async fn run(store: &str, sizes: &[u64], report: &mut Report) -> Result<()> {
    report.store(if store.is_empty() { "sqlite" } else { "postgres" });
    for trips in sizes {
        let place = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
        let (data, set) = (tempfile::tempdir_in(".").context("cannot make a temporary directory here")?, place.path());
        generate(set, *trips).await?;
        let arguments: &[&str] = if store.is_empty() { &[] } else { &["--store", store] };
        let server = Throwaway::start(data, arguments, &[("MALLA_ROLES", "api,analyst,medic")]).await?;
        let pid = server.pid().context("the server is gone")?;
        let began = Instant::now();
        let (answers, client_mb) = ask(&server, set).await?;
        let took = began.elapsed().as_secs_f64();
        let note = format!(
            "{took:.2} s; peak memory: server {:.0} MB, client {client_mb:.0} MB; the server's CPU {:.2} s",
            peak_of(&pid.to_string()),
            cpu_of(pid)
        );
        server.stop().await?;
        ensure!(answers == answers_of(*trips)?, "the service's answers differ from those made here");
        report.line(&format!("{trips} trips from files to answers"), *trips as f64 / took, "rows/s", &note);
    }
    Ok(())
}

async fn generate(set: &Path, trips: u64) -> Result<()> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    let (trips, seed) = (trips.to_string(), SEED.to_string());
    command.args(["bikes", "generate", "--trips", &trips, "--seed", &seed]).arg(set).stdout(Stdio::null());
    ensure!(command.status().await.context("cannot make a data set")?.success(), "cannot make a data set");
    Ok(())
}

/// The answers, and how much memory the client took.
async fn ask(server: &Throwaway, set: &Path) -> Result<(Value, f64)> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.args(["bikes", "--json", "--server", &server.url, "--token", &server.token]).arg(set);
    let client = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().context("cannot start a client")?;
    let pid = client.id().map(|pid| pid.to_string()).unwrap_or_default();
    let answers = client.wait_with_output();
    tokio::pin!(answers);
    let mut peak = 0.0_f64;
    loop {
        tokio::select! {
            answers = &mut answers => {
                let answers = answers.context("the client is gone")?;
                ensure!(answers.status.success(), "the client failed");
                return Ok((serde_json::from_slice(&answers.stdout)?, peak));
            }
            () = tokio::time::sleep(LOOK) => peak = peak.max(peak_of(&pid)),
        }
    }
}
