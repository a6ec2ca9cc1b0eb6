//! Who uses the server while a demo runs: prepares what every room needs, says where to look, and keeps a gentle load going
//! until the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use malla_client::{Client, ClientOptions};
use malla_protocol::Code;
use malla_queue::{Clock as _, SystemClock};
use tokio::task::JoinSet;

use super::kept::Kept;
use super::town::Town;
use super::{analyze, devices, fetch, notify, people, tasks, tours, welcome, wiki};
use crate::config::Config;
use crate::data_dir::read_admin_token;
use crate::duties::Stop;
use crate::output::talk;

/// What every part of the demo has at hand.
pub(super) struct Stage {
    pub(super) client: Client,
    pub(super) town: Arc<Town>,
    pub(super) config: Arc<Config>,
    pub(super) url: String,
    clock: Arc<SystemClock>,
}

impl Stage {
    /// In seconds since 1970.
    pub(super) fn now_s(&self) -> i64 {
        self.clock.now().0 / 1_000
    }
}

/// Plays all parts.
pub(crate) struct Player {
    stage: Arc<Stage>,
    kept: Kept,
    data: PathBuf,
    json: bool,
}

impl Player {
    pub(super) fn new(
        url: &str,
        config: &Arc<Config>,
        data: &Path,
        clock: &Arc<SystemClock>,
        (town, kept): (Arc<Town>, Kept),
        json: bool,
    ) -> Result<Self> {
        let token = read_admin_token(data)?;
        let client = Client::new(ClientOptions { servers: vec![url.to_owned()], token, ca_pem: None })?;
        let stage = Stage { client, town, config: config.clone(), url: url.to_owned(), clock: clock.clone() };
        Ok(Self { stage: Arc::new(stage), kept, data: data.to_owned(), json })
    }

    /// Until told to stop. It ends before that only if nothing can be shown.
    pub(crate) async fn play(mut self, mut stop: Stop) {
        let prepared = tokio::select! {
            prepared = self.prepare() => prepared,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        if let Err(error) = prepared {
            return tracing::error!("the demo cannot be prepared: {error:#}");
        }
        let stage = &self.stage;
        let mut parts = JoinSet::new();
        parts.spawn(notify::run(stage.clone()));
        parts.spawn(fetch::run(stage.clone()));
        parts.spawn(wiki::run(stage.clone()));
        parts.spawn(analyze::run(stage.clone()));
        parts.spawn(tours::run(stage.clone()));
        parts.spawn(tasks::run(stage.clone()));
        let volunteers = devices::run(stage.clone(), self.kept.volunteers.clone().unwrap_or_default(), stop.clone());
        let played = async {
            let _ = stop.wait_for(|stop| *stop).await;
            if !self.json {
                talk("The demo comes to an end.");
            }
            parts.shutdown().await;
        };
        tokio::join!(volunteers, played);
    }

    /// Makes what is missing: a second start finds most of it.
    async fn prepare(&mut self) -> Result<()> {
        let stage = &*self.stage;
        if self.kept.port != stage.town.port() {
            tracing::error!(
                "the port {} is taken: the demo's sites have moved to {}",
                self.kept.port,
                stage.town.port()
            );
            self.kept.port = stage.town.port();
            self.kept.write(&self.data)?;
        }
        people::prepare(stage, &mut self.kept, &self.data).await.context("users and groups")?;
        notify::prepare(stage).await.context("endpoints and subscriptions")?;
        wiki::prepare(stage).await.context("extractions")?;
        analyze::prepare(stage).await.context("analyses")?;
        tours::prepare(stage).await.context("watches and comparisons")?;
        tasks::prepare(stage).await.context("tasks")?;
        welcome::say(stage, &self.kept, &self.data, self.json).context("the first words")
    }
}

/// Waits.
pub(super) async fn rest(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// What did not work is tried again some time later, as people do.
pub(super) fn tried<T>(what: &str, done: malla_client::Result<T>) -> Option<T> {
    done.inspect_err(|error| tracing::warn!("demo: cannot {what}: {error}")).ok()
}

/// Making something that is there already is fine. `None` if it was.
pub(super) fn made<T>(done: malla_client::Result<T>) -> malla_client::Result<Option<T>> {
    match done {
        Ok(made) => Ok(Some(made)),
        Err(error) if error.problem().is_some_and(|problem| problem.code == Code::Taken) => Ok(None),
        Err(error) => Err(error),
    }
}
