//! A process of a medic's: this same program in one role, told and watched.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use malla_cluster::{MemberId, Slot};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::logs::{LastLine, pass_on};
use crate::config::{Flag, LogFormat};

/// How long the last lines of a process may take after its end.
const LAST_LINES: Duration = Duration::from_millis(500);

/// How processes are started.
pub(crate) struct Launcher {
    /// Found once: after an upgrade it is the new program under the old name.
    program: PathBuf,
    /// What the flags of the medic said. They may hold a password, which has no place in a list of processes.
    variables: Vec<(String, String)>,
}

impl fmt::Debug for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Launcher({})", self.program.display())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Run,
    Stop,
    Kill,
}

/// A process that was started. It is killed when this is dropped.
pub(super) struct Process {
    pub(super) pid: u32,
    order: watch::Sender<Order>,
}

/// A process that has ended.
pub(super) struct Ended {
    pub(super) slot: Slot,
    status: io::Result<ExitStatus>,
    last_line: String,
}

impl Launcher {
    pub(crate) fn new(flags: &[Flag], config_file: Option<&Path>) -> Result<Self> {
        let mut variables: Vec<_> = flags.iter().map(|flag| (flag.variable(), flag.value.clone())).collect();
        variables.extend(config_file.map(|path| ("MALLA_CONFIG".to_owned(), path.display().to_string())));
        Ok(Self { program: std::env::current_exe().context("cannot find this program")?, variables })
    }

    /// Starts a process that listens, if it does, at `listen`. Its end comes out of `ends`.
    pub(super) fn start(
        &self,
        slot: &Slot,
        medic: MemberId,
        listen: &str,
        format: LogFormat,
        ends: &mut JoinSet<Ended>,
    ) -> io::Result<Process> {
        let mut command = Command::new(&self.program);
        command
            .args(["up", "--roles", &slot.role, "--slot", &slot.to_string(), "--medic", &medic.to_string()])
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("MALLA_LISTEN", listen)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // An interrupt from the terminal is for the medic, which asks its processes itself.
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("it ended at once"))?;
        let (order, orders) = watch::channel(Order::Run);
        ends.spawn(attend(child, slot.clone(), format, orders));
        Ok(Process { pid, order })
    }
}

impl Process {
    /// It may finish what it has in hand.
    pub(super) fn stop(&self) {
        self.order.send_replace(Order::Stop);
    }

    pub(super) fn kill(&self) {
        self.order.send_replace(Order::Kill);
    }
}

/// Passes on what a process says and carries out orders until it has ended.
async fn attend(mut child: Child, slot: Slot, format: LogFormat, mut orders: watch::Receiver<Order>) -> Ended {
    // Held, not written: it ends with the medic, and the process sees that.
    let _pipe = child.stdin.take();
    let (last, mut readers) = (LastLine::default(), JoinSet::new());
    if let Some(stdout) = child.stdout.take() {
        readers.spawn(pass_on(stdout, slot.clone(), format, last.clone()));
    }
    if let Some(stderr) = child.stderr.take() {
        readers.spawn(pass_on(stderr, slot.clone(), format, last.clone()));
    }
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            changed = orders.changed() => {
                let order = if changed.is_ok() { *orders.borrow_and_update() } else { Order::Kill };
                let done = match order {
                    Order::Run => Ok(()),
                    Order::Stop => terminate(&child),
                    Order::Kill => child.start_kill(),
                };
                if let Err(error) = done {
                    tracing::warn!(%slot, %error, "a process cannot be told to end");
                }
                if changed.is_err() {
                    break child.wait().await;
                }
            }
        }
    };
    let _ = tokio::time::timeout(LAST_LINES, async { while readers.join_next().await.is_some() {} }).await;
    Ended { slot, status, last_line: last.get() }
}

fn terminate(child: &Child) -> io::Result<()> {
    // One that was waited for has no number any more, so nobody else is hit.
    match child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        Some(pid) => Ok(kill_process(pid, Signal::TERM)?),
        None => Ok(()),
    }
}

impl Ended {
    /// It ended well.
    pub(super) fn well(&self) -> bool {
        self.status.as_ref().is_ok_and(ExitStatus::success)
    }

    /// How it ended and, if that was not well, what it said last.
    pub(super) fn note(&self) -> String {
        let how = match &self.status {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "it is not known how".into(),
            },
            Err(error) => error.to_string(),
        };
        match self.last_line.as_str() {
            line if !self.well() && !line.is_empty() => format!("{how}; its last line: {line}"),
            _ => how,
        }
    }
}
