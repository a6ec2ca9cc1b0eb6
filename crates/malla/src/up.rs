//! `malla up` and `malla supervise`: takes the data directory, opens the store, serves and works until a signal, and ends in
//! order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use malla_access::Passwords;
use malla_cluster::Membership;
use malla_queue::{Clock as _, Error, SystemClock};
use malla_store::Opened;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::analyzing::Analyzing;
use crate::config::{Config, masked_url};
use crate::data_dir::{DataDir, ServerFile};
use crate::demo::Demo;
use crate::fetching::Fetching;
use crate::leading::Leading;
use crate::member::{self, Joined, Part, Pulse};
use crate::notifying::Notifying;
use crate::roles::{Crew, Role, Rooms};
use crate::router::{away, router};
use crate::serve::Server;
use crate::signals::{Asked, Signals};
use crate::supervise::Supervisor;
use crate::wikis::WikiRoom;
use crate::{duties, first_run, serve, stderr, telemetry, tending};

/// Between two tries to reach the store.
const STORE_AGAIN: Duration = Duration::from_secs(2);

/// A medic ends when its processes have; this is for those that have to be killed.
const MEDIC_MORE: Duration = Duration::from_secs(5);
/// Beside the grace of the one before in a slot.
const SLOT_WAIT: Duration = Duration::from_secs(5);

/// Runs until a signal. The data directory is free again when this returns.
pub(crate) async fn run(config: Config, part: Part) -> Result<()> {
    run_with(config, part, None).await
}

/// The same, with a demo that uses the server while it runs.
pub(crate) async fn run_with(config: Config, part: Part, demo: Option<Demo>) -> Result<()> {
    let config = Arc::new(config);
    let signals = match part {
        Part::Child { .. } => Signals::listen_to_medic(),
        Part::Alone | Part::Medic(_) => Signals::listen(),
    };
    let mut signals = signals.context("cannot listen for signals")?;
    let clock = Arc::new(SystemClock::default());
    let metrics = telemetry::metrics(clock.now())?;
    let data = tokio::select! {
        data = take(&config, &part) => Arc::new(data?),
        asked = signals.next() => return said_early(asked),
    };
    let store = tokio::select! {
        store = open_store(&config, clock.clone()) => Arc::new(store?),
        asked = signals.next() => return said_early(asked),
    };
    let house = House { config, clock, data, store, part, demo };
    let running = tokio::select! {
        running = house.start(metrics) => running,
        asked = signals.next() => {
            house.store.close().await;
            return said_early(asked);
        }
    };
    let mut running = match running {
        Ok(running) => running,
        Err(error) => {
            house.store.close().await;
            return Err(error);
        }
    };
    let trouble = tokio::select! {
        asked = signals.next() => {
            tracing::info!("{}: coming to an end within {:?}", asked.name(), house.config.shutdown_grace());
            None
        }
        error = running.failed() => {
            tracing::error!("{error}: coming to an end");
            Some(error)
        }
    };
    tokio::select! {
        () = house.stop(running) => {}
        asked = signals.next() => {
            house.data.remove_server();
            tracing::warn!("{}: ending at once", asked.name());
            stderr::flush();
            std::process::exit(asked.exit_code());
        }
    }
    trouble.map_or(Ok(()), Err)
}

async fn take(config: &Config, part: &Part) -> Result<DataDir> {
    match part {
        Part::Child { slot, .. } => DataDir::take_slot(&config.data, slot, config.shutdown_grace() + SLOT_WAIT).await,
        Part::Alone | Part::Medic(_) => DataDir::take(&config.data),
    }
}

fn said_early(asked: Asked) -> Result<()> {
    tracing::info!("{} during the start: nothing to finish", asked.name());
    Ok(())
}

/// What this process stands on.
struct House {
    config: Arc<Config>,
    clock: Arc<SystemClock>,
    data: Arc<DataDir>,
    store: Arc<Opened>,
    part: Part,
    demo: Option<Demo>,
}

/// The parts that run.
struct Running {
    crew: Crew,
    server: Option<Server>,
    notifying: Arc<Notifying>,
    joined: Joined,
}

impl Running {
    async fn failed(&mut self) -> anyhow::Error {
        let server = async {
            match &mut self.server {
                Some(server) => server.failed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            error = self.crew.failed() => error,
            error = server => error,
            error = self.joined.failed() => error,
        }
    }
}

/// Opens the store; one that cannot be reached is tried again for a while.
async fn open_store(config: &Config, clock: Arc<SystemClock>) -> Result<Opened> {
    let (url, bodies) = (config.store_url(), config.bodies());
    let deadline = Instant::now() + config.store_wait();
    // An embedded store that cannot be opened now cannot be opened in a minute either.
    let patient = !url.starts_with("sqlite:");
    loop {
        match malla_store::open_with(&url, clock.clone(), config.limits(), bodies.as_ref()).await {
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

impl House {
    async fn start(&self, metrics: PrometheusHandle) -> Result<Running> {
        let House { config, clock, store, part, .. } = self;
        let mut crew = Crew::new(config.shutdown_grace() * 6 / 10);
        let notifying = Arc::new(Notifying::new(config, store, clock)?);
        let fetching = Arc::new(Fetching::new(config, store, clock, &part.slot_name()).await?);
        let analyzing = Analyzing::new(config, store, clock);
        let wiki = WikiRoom::new(config, store)?;
        let rooms = (&notifying, &fetching, &wiki, &analyzing);
        let (server, address) = match config.roles.contains(&Role::Api) {
            true => self.serve(metrics, rooms, &crew).await.map(|(server, at)| (Some(server), Some(at)))?,
            false => (self.show(metrics, &crew).await?, None),
        };
        // Before anything is leased: the last one may have had the same name.
        member::bury_the_last(&self.data, &*store.cluster).await;
        crew.start(config, &store.queue, clock, rooms)?;
        let joined = self.join(&mut crew, address)?;
        Ok(Running { crew, server, notifying, joined })
    }

    async fn serve(&self, metrics: PrometheusHandle, rooms: Rooms<'_>, crew: &Crew) -> Result<(Server, SocketAddr)> {
        let House { config, clock, store, data, part, demo } = self;
        let bound = match part {
            Part::Child { .. } => serve::bind_shared(config)?,
            Part::Alone | Part::Medic(_) => serve::bind(config.listen_address()?)?,
        };
        let address = bound.address;
        let passwords = Passwords::new()?;
        let password = prepare(config, store, &passwords, data).await?;
        let router = router(config, clock, metrics, store, rooms, passwords, crew);
        let server = serve::start(bound, config, router).await?;
        let url = serve::url(config, address);
        data.write_server(&ServerFile { url, pid: std::process::id(), ca: serve::ca(config)? })?;
        if let (Some(password), None) = (password, demo) {
            self.say(&format!("first start: log in to the console as admin with the password {password}"));
        }
        Ok((server, address))
    }

    /// A process without the API is watched at an address of its own, if it has one. Those that a medic starts would all have
    /// the same.
    async fn show(&self, metrics: PrometheusHandle, crew: &Crew) -> Result<Option<Server>> {
        let House { config, clock, store, part, .. } = self;
        let Some(wanted) = config.metrics_address()?.filter(|_| !matches!(part, Part::Child { .. })) else {
            return Ok(None);
        };
        let bound = serve::bind(wanted).context("metrics_listen")?;
        let address = bound.address;
        let (stopping, bodies) = (crew.stopping(), store.bodies.clone());
        let router = malla_api::watched(malla_api::Watched {
            queue: store.queue.clone(),
            clock: clock.clone(),
            backend: store.backend,
            ready: Arc::new(move || if *stopping.borrow() { Err("shutting down".into()) } else { Ok(away(&*bodies)) }),
            metrics: Arc::new(move || metrics.render()),
        });
        let settings = malla_api::Settings::default();
        let server = serve::start(bound, config, malla_api::layers(router, &settings)).await?;
        tracing::info!("/metrics of this process is at {address}");
        Ok(Some(server))
    }

    /// Last: whoever is a member answers and works.
    fn join(&self, crew: &mut Crew, address: Option<SocketAddr>) -> Result<Joined> {
        let House { config, clock, store, data, part, demo } = self;
        let me = member::about(config, part, address.map(|address| serve::url_for_others(config, address)));
        let membership = Membership::new(store.cluster.clone(), clock.clone(), me, config.cluster.heartbeat());
        let (shown, member) = watch::channel(None);
        crew.add(|stop| duties::look_at_bodies(store.bodies.clone(), stop));
        crew.add(|stop| member::remember(data.clone(), member.clone(), stop));
        if config.roles.contains(&Role::Api) || config.metrics_address()?.is_some() {
            crew.add(|stop| tending::count(store.cluster.clone(), clock.clone(), member.clone(), stop));
        }
        if config.roles.contains(&Role::Medic) {
            let leading = Leading::new(config, store, clock, membership.steady())?;
            crew.add(|stop| leading.run(member.clone(), stop));
        }
        let place = format!("(data in {})", data.path().display());
        if let (Some(demo), Some(address)) = (demo, address) {
            let player = demo.player(&serve::url(config, address), config, data, clock)?;
            crew.add(|stop| player.play(stop));
        }
        match (part, address) {
            _ if demo.is_some() => {}
            (Part::Medic(launcher), _) => {
                let supervisor = Supervisor::new(config, launcher, data, store, clock, membership.steady())?;
                let url = supervisor.url().to_owned();
                crew.add(|stop| supervisor.run(member, stop));
                self.say(&format!("malla is up: a medic; an api of this machine answers at {url} {place}"));
            }
            (_, Some(address)) => self.say(&format!("malla is up: {} {place}", serve::url(config, address))),
            (_, None) => self.say(&format!("malla is up: {}", role_names(config))),
        }
        Ok(Joined::start(membership, shown, Pulse::new(crew.hand())))
    }

    /// A line for whoever started this process.
    fn say(&self, line: &str) {
        telemetry::say(&self.config.log, self.clock.now(), line);
    }

    /// Workers first, while the server still answers (and says that it is not ready); then the server; then the store. A member
    /// leaves when it does nothing any more. A medic leaves at once, so that others take over while its processes end.
    async fn stop(&self, mut running: Running) {
        let House { config, store, data, part, .. } = self;
        let grace = config.shutdown_grace();
        let mut end = Instant::now() + grace;
        running.crew.begin_to_stop();
        if let Part::Medic(_) = part {
            running.joined.begin_to_leave();
            end += grace + MEDIC_MORE;
        }
        if !running.crew.stopped(end - grace * 3 / 10).await {
            tracing::warn!(
                "not everything in hand could be given back: it returns to its lanes when its leases run out"
            );
        }
        data.remove_server();
        if let Some(server) = running.server {
            server.stop(grace * 2 / 10).await;
        }
        let last_moment = end - grace / 20;
        running.joined.leave(last_moment).await;
        // Whoever counted has ended: these are the last figures.
        if !matches!(tokio::time::timeout_at(last_moment, running.notifying.record()).await, Ok(Ok(()))) {
            tracing::warn!("the last seconds are missing in the statistics");
        }
        if tokio::time::timeout_at(last_moment, store.close()).await.is_err() {
            tracing::warn!("the store did not close in time; nothing acknowledged is lost");
        }
        tracing::info!("ended");
    }
}

/// What the first start needs. The store may go away again right after it was opened.
async fn prepare(config: &Config, store: &Opened, passwords: &Passwords, data: &DataDir) -> Result<Option<String>> {
    let deadline = Instant::now() + config.store_wait();
    let _turn = data.first_run_turn().await?;
    loop {
        let prepared = first_run::prepare(&store.access, passwords, data).await;
        match prepared.as_ref().map_err(|error| error.downcast_ref()) {
            Err(Some(Error::Unavailable(why))) if Instant::now() + STORE_AGAIN < deadline => {
                tracing::warn!("the store has gone away ({why}): trying again");
                tokio::time::sleep(STORE_AGAIN).await;
            }
            _ => return prepared,
        }
    }
}

fn role_names(config: &Config) -> String {
    config.roles.iter().map(Role::to_string).collect::<Vec<_>>().join(", ")
}
