//! `malla up`: takes the data directory, opens the store, serves and works until a signal, and ends in order.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use axum::Router;
use malla_access::Passwords;
use malla_queue::{Clock as _, Error, SystemClock};
use malla_store::Opened;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::time::Instant;

use crate::analyzing::Analyzing;
use crate::config::{Config, masked_url};
use crate::data_dir::{DataDir, ServerFile};
use crate::fetching::Fetching;
use crate::notifying::Notifying;
use crate::roles::{Crew, Role, Rooms};
use crate::serve::Server;
use crate::signals::{Asked, Signals};
use crate::wikis::WikiRoom;
use crate::{first_run, serve, telemetry};

/// Between two tries to reach the store.
const STORE_AGAIN: Duration = Duration::from_secs(2);

/// Runs until a signal. The data directory is free again when this returns.
pub(crate) async fn run(config: Config) -> Result<()> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let clock = Arc::new(SystemClock::default());
    let metrics = telemetry::metrics(clock.now())?;
    let data = DataDir::take(&config.data)?;
    let store = tokio::select! {
        store = open_store(&config, clock.clone()) => store?,
        asked = signals.next() => return said_early(asked),
    };
    let running = tokio::select! {
        running = start(&config, &clock, metrics, &data, &store) => running,
        asked = signals.next() => {
            store.close().await;
            return said_early(asked);
        }
    };
    let mut running = match running {
        Ok(running) => running,
        Err(error) => {
            store.close().await;
            return Err(error);
        }
    };
    let trouble = tokio::select! {
        asked = signals.next() => {
            tracing::info!("{}: coming to an end within {:?}", asked.name(), config.shutdown_grace());
            None
        }
        error = running.failed() => {
            tracing::error!("{error}: coming to an end");
            Some(error)
        }
    };
    tokio::select! {
        () = stop(&config, running, &store, &data) => {}
        asked = signals.next() => {
            data.remove_server();
            tracing::warn!("{}: ending at once", asked.name());
            std::process::exit(asked.exit_code());
        }
    }
    trouble.map_or(Ok(()), Err)
}

fn said_early(asked: Asked) -> Result<()> {
    tracing::info!("{} during the start: nothing to finish", asked.name());
    Ok(())
}

/// The parts that run.
struct Running {
    crew: Crew,
    server: Option<Server>,
    notifying: Arc<Notifying>,
}

impl Running {
    async fn failed(&mut self) -> anyhow::Error {
        match &mut self.server {
            Some(server) => tokio::select! {
                error = self.crew.failed() => error,
                error = server.failed() => error,
            },
            None => self.crew.failed().await,
        }
    }
}

/// Opens the store; one that cannot be reached is tried again for a while.
async fn open_store(config: &Config, clock: Arc<SystemClock>) -> Result<Opened> {
    let url = config.store_url();
    let deadline = Instant::now() + config.store_wait();
    // An embedded store that cannot be opened now cannot be opened in a minute either.
    let patient = !url.starts_with("sqlite:");
    loop {
        match malla_store::open(&url, clock.clone(), config.limits()).await {
            Ok(store) => {
                tracing::info!(store = masked_url(&url), backend = store.backend, "the store is open");
                return Ok(store);
            }
            Err(Error::Unavailable(why)) if patient && Instant::now() + STORE_AGAIN < deadline => {
                tracing::warn!("the store {} cannot be reached ({why}): trying again", masked_url(&url));
                tokio::time::sleep(STORE_AGAIN).await;
            }
            Err(Error::Unavailable(why) | Error::Invalid(why)) => {
                return Err(anyhow!("the store {} cannot be opened: {why}", masked_url(&url)));
            }
            Err(error) => return Err(anyhow!("the store {} cannot be opened: {error}", masked_url(&url))),
        }
    }
}

async fn start(
    config: &Config,
    clock: &Arc<SystemClock>,
    metrics: PrometheusHandle,
    data: &DataDir,
    store: &Opened,
) -> Result<Running> {
    let say = |line: &str| telemetry::say(&config.log, clock.now(), line);
    let mut crew = Crew::new(config.shutdown_grace() * 6 / 10);
    let notifying = Arc::new(Notifying::new(config, store, clock)?);
    let fetching = Arc::new(Fetching::new(config, store, clock)?);
    let analyzing = Analyzing::new(config, store);
    let wiki = WikiRoom::new(config, store)?;
    let rooms = (&notifying, &fetching, &wiki, &analyzing);
    if !config.roles.contains(&Role::Api) {
        crew.start(config, &store.queue, clock, rooms)?;
        say(&format!("malla is up: {}", role_names(config)));
        return Ok(Running { crew, server: None, notifying });
    }
    let bound = serve::bind(config)?;
    let url = serve::url(config, bound.address);
    let passwords = Passwords::new()?;
    let password = first_run::prepare(&store.access, &passwords, data).await?;
    let router = router(config, clock, metrics, store, rooms, passwords, &crew);
    let server = serve::start(bound, config, router).await?;
    let ca = match config.tls() {
        Some(tls) => Some(tls.ca.canonicalize().with_context(|| format!("cannot find {}", tls.ca.display()))?),
        None => None,
    };
    data.write_server(&ServerFile { url: url.clone(), pid: std::process::id(), ca })?;
    crew.start(config, &store.queue, clock, rooms)?;
    if let Some(password) = password {
        say(&format!("first start: log in to the console as admin with the password {password}"));
    }
    say(&format!("malla is up: {url} (data in {})", data.path().display()));
    Ok(Running { crew, server: Some(server), notifying })
}

fn router(
    config: &Config,
    clock: &Arc<SystemClock>,
    metrics: PrometheusHandle,
    store: &Opened,
    (notifying, fetching, wiki, analyzing): Rooms<'_>,
    passwords: Passwords,
    crew: &Crew,
) -> Router {
    let secure_cookies = config.tls().is_some() || config.console.behind_https;
    let settings = malla_api::Settings {
        body_bytes_max: config.http.body_bytes_max,
        request_timeout: Duration::from_secs(config.http.request_timeout_s),
        anonymous_role: config.anonymous_role(),
        metrics_public: config.metrics_public,
        secure_cookies,
        idempotency_keep: Duration::from_secs(config.http.idempotency_keep_h * 3_600),
        limits: config.limits(),
    };
    let stopping = crew.stopping();
    let api = malla_api::router(malla_api::Services {
        queue: store.queue.clone(),
        access: store.access.clone(),
        notify: notifying.notify.clone(),
        statistics: notifying.statistics.clone(),
        alerts: notifying.alerts.clone(),
        intake: notifying.intake.clone(),
        fetch: fetching.fetch.clone(),
        dispatcher: fetching.dispatcher.clone(),
        fetching: fetching.for_api(),
        analyze: analyzing.analyze.clone(),
        analyzing: analyzing.for_api(),
        wikis: wiki.wikis.clone(),
        asking: wiki.asking.clone(),
        clock: clock.clone(),
        passwords: passwords.clone(),
        metrics: Arc::new(move || metrics.render()),
        ready: Arc::new(move || if *stopping.borrow() { Err("shutting down".into()) } else { Ok(()) }),
        settings: settings.clone(),
    });
    let console = malla_console::router(malla_console::Services {
        queue: store.queue.clone(),
        access: store.access.clone(),
        notify: notifying.notify.clone(),
        statistics: notifying.statistics.clone(),
        alerts: notifying.alerts.clone(),
        intake: notifying.intake.clone(),
        fetch: fetching.fetch.clone(),
        fetching: fetching.for_console(),
        analyze: analyzing.analyze.clone(),
        wikis: wiki.wikis.clone(),
        asking: wiki.asking.clone(),
        visits_per_day: wiki.visits_per_day(),
        clock: clock.clone(),
        passwords,
        settings: malla_console::Settings {
            secure_cookies,
            session_lasts: Duration::from_secs(config.console.session_h * 3_600),
            anonymous_role: config.anonymous_role(),
            version: env!("CARGO_PKG_VERSION"),
        },
    });
    malla_api::layers(api.merge(console), &settings)
}

/// Workers first, while the server still answers (and says that it is not ready); then the server; then the store.
async fn stop(config: &Config, running: Running, store: &Opened, data: &DataDir) {
    let grace = config.shutdown_grace();
    let end = Instant::now() + grace;
    running.crew.begin_to_stop();
    if !running.crew.stopped(end - grace * 3 / 10).await {
        tracing::warn!("not everything in hand could be given back: it returns to its lanes when its leases run out");
    }
    data.remove_server();
    if let Some(server) = running.server {
        server.stop(grace * 2 / 10).await;
    }
    let last_moment = end - grace / 20;
    // Whoever counted has ended: these are the last figures.
    if !matches!(tokio::time::timeout_at(last_moment, running.notifying.record()).await, Ok(Ok(()))) {
        tracing::warn!("the last seconds are missing in the statistics");
    }
    if tokio::time::timeout_at(last_moment, store.close()).await.is_err() {
        tracing::warn!("the store did not close in time; nothing acknowledged is lost");
    }
    tracing::info!("ended");
}

fn role_names(config: &Config) -> String {
    config.roles.iter().map(Role::to_string).collect::<Vec<_>>().join(", ")
}
