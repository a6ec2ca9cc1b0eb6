//! `malla worker`: a device that fetches for a fleet. It needs no store, only a server.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use malla_client::{Client, ClientOptions};
use malla_fetch::worker::{self, Observer, Page, WorkerOptions};
use malla_fetch::{DispatchError, Getter};
use malla_protocol::{FLEET_VERSION, JoinFleet, Joined};
use tokio::sync::watch;

use crate::cli::{Place, Reach, Settings};
use crate::commands::{load, server_of};
use crate::config::Config;
use crate::device_secret::DeviceSecret;
use crate::fetching::{hostname, system, user_agent};
use crate::fleet::{FleetDispatch, Patience};
use crate::output::talk;
use crate::signals::Signals;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla worker --server https://fleet.example.org --token malla_…\n  malla worker --server https://a.example.org,https://b.example.org --token malla_… --max-rate 500000"
)]
pub(crate) struct Command {
    #[command(flatten)]
    pub reach: Reach,
    /// The name of this device, one of its own for each at work [default: the machine's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where this device is: two letters, as in DE
    #[arg(long, value_name = "CODE")]
    country: Option<String>,
    /// Bytes a second for all downloads together
    #[arg(long, value_name = "BYTES")]
    max_rate: Option<u64>,
    /// Requests at once, at most
    #[arg(long, value_name = "N", default_value_t = 256)]
    parallel: usize,
    /// Megabytes of results that wait to be sent, at most
    #[arg(long, value_name = "MB", default_value_t = 256)]
    memory: u64,
    /// How often a server that is gone is tried again before the next one is; 0: for ever
    #[arg(long, value_name = "N", default_value_t = 5)]
    retries: u32,
    /// Seconds between two tries
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    retry_interval: f64,
    /// It has no terminal of its own.
    #[arg(skip)]
    quiet: bool,
}

impl Command {
    /// A device inside of another process, which knows where its server is.
    pub(crate) fn inside(server: &str, token: &str, name: &str, country: &str) -> Self {
        Self {
            reach: Reach { server: vec![server.to_owned()], token: Some(token.to_owned()), json: false },
            name: Some(name.to_owned()),
            country: Some(country.to_owned()),
            max_rate: None,
            parallel: 4,
            memory: 16,
            retries: 5,
            retry_interval: 1.0,
            quiet: true,
        }
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            talk(line);
        }
    }
}

pub(crate) async fn run(place: &Place, command: Command) -> Result<()> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let (told, stop) = watch::channel(false);
    let config = load(place, &Settings::default())?.config()?;
    let mut work = std::pin::pin!(work(&config, command, stop));
    tokio::select! {
        ended = &mut work => return ended,
        asked = signals.next() => talk(&format!("{}: giving back what is not begun", asked.name())),
    }
    told.send_replace(true);
    tokio::select! {
        ended = work => ended,
        asked = signals.next() => std::process::exit(asked.exit_code()),
    }
}

/// Works for one server after the other: the first, the ones it named, the ones that were given.
pub(crate) async fn work(config: &Config, command: Command, stop: watch::Receiver<bool>) -> Result<()> {
    let options = server_of(config, &command.reach)?;
    let interval = Duration::try_from_secs_f64(command.retry_interval)
        .map_err(|_| crate::commands::Usage("--retry-interval is a number of seconds".into()))?;
    let patience = Patience { retries: command.retries, interval };
    let primary = options.servers[0].clone();
    let own: Vec<String> = options.servers[1..].to_vec();
    let secret = own_secret(config, &command, options.token.as_deref().unwrap_or_default())?;
    let mut told: Vec<String> = Vec::new();
    let mut line: VecDeque<String> = VecDeque::from([primary.clone()]);
    let mut orphaned = anyhow!("no server is given");
    while let Some(server) = line.pop_front() {
        let device = OneServer { config, command: &command, options: &options, secret: &secret, patience };
        let served = device.work(&server, &stop, &mut told).await;
        match served {
            Served::Stopped => return Ok(()),
            // It was well for a while: whoever comes next, the first server is asked again before that.
            Served::Lost(why) => {
                command.say(&format!("{server}: {why}"));
                orphaned = anyhow!("{why}");
                line = if server == primary {
                    told.iter().chain(&own).cloned().collect()
                } else {
                    std::iter::once(primary.clone()).collect()
                };
            }
            Served::Never(why) => {
                command.say(&format!("{server}: {why}"));
                orphaned = anyhow!("{why}");
                if server == primary && line.is_empty() {
                    line = told.iter().chain(&own).cloned().collect();
                    told.clear();
                    if line.is_empty() {
                        break;
                    }
                }
            }
        }
    }
    Err(orphaned.context("this device has no server any more"))
}

/// The secret by which servers know this device again. Without a kept one it works as well, but after a crash its name is
/// taken for a while.
fn own_secret(config: &Config, command: &Command, token: &str) -> Result<DeviceSecret> {
    match DeviceSecret::kept(&config.data, &name(command), token) {
        Ok(Some(kept)) => return Ok(kept),
        // The server will say that the name is taken, if the other process works for it.
        Ok(None) => {}
        Err(error) => command.say(&format!("{error:#}: after a crash, the name of this device is taken for a while")),
    }
    DeviceSecret::for_now()
}

fn name(command: &Command) -> String {
    command.name.clone().unwrap_or_else(hostname)
}

/// How the work for a server ended.
enum Served {
    /// This device was told to stop.
    Stopped,
    /// The server was there, and is no more.
    Lost(String),
    /// The server was never there, or does not want this device.
    Never(String),
}

struct OneServer<'a> {
    config: &'a Config,
    command: &'a Command,
    options: &'a ClientOptions,
    secret: &'a DeviceSecret,
    patience: Patience,
}

impl OneServer<'_> {
    async fn work(&self, server: &str, stop: &watch::Receiver<bool>, told: &mut Vec<String>) -> Served {
        let options = ClientOptions { servers: vec![server.to_owned()], ..self.options.clone() };
        let client = match Client::new(options) {
            Ok(client) => client,
            Err(error) => return Served::Never(error.to_string()),
        };
        let mut joined_before = false;
        loop {
            let joined = tokio::select! {
                joined = self.join(&client) => joined,
                () = stopped(stop.clone()) => return Served::Stopped,
            };
            let joined = match joined {
                Ok(joined) => joined,
                Err(why) if joined_before => return Served::Lost(why.to_string()),
                Err(why) => return Served::Never(why.to_string()),
            };
            joined_before = true;
            if !joined.backups.is_empty() {
                told.clone_from(&joined.backups);
            }
            self.command.say(&format!("joined {server}"));
            match self.fetch(&client.with_token(&joined.secret), joined.heartbeat_s, stop.clone()).await {
                Ok(()) => return Served::Stopped,
                // The server may have started anew, or forgotten this device: it joins again, if it can.
                Err(DispatchError::Unknown(why)) => self.command.say(&format!("{server}: {why}")),
                Err(error) => return Served::Lost(error.to_string()),
            }
        }
    }

    /// Joins, with as many tries as the patience allows.
    async fn join(&self, client: &Client) -> Result<Joined> {
        let join = JoinFleet {
            version: FLEET_VERSION,
            name: name(self.command),
            secret: Some(self.secret.secret.reveal().to_owned()),
            system: system(),
            program: env!("CARGO_PKG_VERSION").into(),
            hostname: hostname(),
            country: self.command.country.as_ref().map(|code| code.to_ascii_uppercase()),
        };
        let mut tries = 0;
        loop {
            match client.join_fleet(&join).await {
                Ok(joined) => return Ok(joined),
                Err(malla_client::Error::Unreachable(..))
                    if self.patience.retries == 0 || tries < self.patience.retries =>
                {
                    tries += 1;
                    tokio::time::sleep(self.patience.interval).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn fetch(&self, client: &Client, heartbeat_s: u64, stop: watch::Receiver<bool>) -> Result<(), DispatchError> {
        let wrong = |error: anyhow::Error| DispatchError::Refused(error.to_string());
        let guard = self.config.guard().map_err(wrong)?;
        let getter = Getter::new(guard, &user_agent(&self.config.fetch.contact))
            .map_err(|error| DispatchError::Refused(error.to_string()))?
            .with_max_rate(self.command.max_rate);
        let defaults = WorkerOptions::default();
        let options = WorkerOptions {
            parallel: defaults.parallel.min(self.command.parallel.max(1)),
            parallel_max: self.command.parallel.max(1),
            memory_max: self.command.memory.saturating_mul(1_000_000),
            max_rate: self.command.max_rate,
            grace: self.config.shutdown_grace() * 8 / 10,
            observer: Arc::new(Said { quiet: self.command.quiet }),
            ..defaults
        };
        let dispatch = Arc::new(FleetDispatch { client: client.clone(), patience: self.patience });
        let heart = tokio::spawn(beat(client.clone(), Duration::from_secs(heartbeat_s.max(1))));
        let ended = worker::run(dispatch, getter, options, stop).await;
        heart.abort();
        if ended.is_ok() {
            let _ = client.leave_fleet().await;
        }
        ended
    }
}

async fn beat(client: Client, every: Duration) {
    loop {
        tokio::time::sleep(every / 2).await;
        // A server that is gone is noticed by the work itself.
        let _ = client.heartbeat().await;
    }
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Says on the terminal what is worth saying.
struct Said {
    quiet: bool,
}

impl Observer for Said {
    fn page(&self, page: &Page<'_>) {
        tracing::debug!(url = %page.url, status = page.status, bytes = page.bytes, took = ?page.took, "a page");
    }

    fn dispatcher_away(&self, why: &str) {
        if !self.quiet {
            talk(&format!("the server does not answer ({why}): trying again"));
        }
    }
}
