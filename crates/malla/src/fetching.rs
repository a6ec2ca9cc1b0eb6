//! The room `fetch` put together: the dispatcher, and the devices that this process is itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use malla_fetch::blocklist::Blocking;
use malla_fetch::door::Door;
use malla_fetch::ledger::HOUSE;
use malla_fetch::tour::{Guide, KeepTours, TourOptions, Tours};
use malla_fetch::trust::Trust;
use malla_fetch::worker::{self, WorkerOptions};
use malla_fetch::{
    About, BLOCKED, Device, DeviceState, DispatchError, Dispatcher, DispatcherOptions, Fetch, GetLimits, Getter, Keep,
    LocalDispatch, NewDevice, Nowhere, Places, Rules,
};
use malla_queue::{Clock as _, LaneSettings, Queue, Scope, SystemClock};
use malla_reach::Guard;
use malla_store::Opened;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::caring::Caring;
use crate::config::{Config, FetchSettings};
use crate::device_secret::DeviceSecret;
use crate::duties::Stop;
use crate::places::GeoPlaces;

/// The name by which robots.txt knows us.
pub(crate) const AGENT: &str = "MallaBot";
/// A device's wait for work, well below the time of a request.
const WAIT: Duration = Duration::from_secs(20);
/// Rows that one step of forgetting takes.
const TRIM_STEP: usize = 500;
/// How often the server looks whether enough devices are there.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often a blocked device of the server looks whether it may work again, if nobody tells it.
const BLOCKED_LOOK: Duration = Duration::from_secs(30);

pub(crate) struct Fetching {
    pub(crate) fetch: Arc<dyn Fetch>,
    pub(crate) tours: Arc<dyn Tours>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) settings: FetchSettings,
    pub(crate) caring: Caring,
    /// What clients may ask for, over the API and in the console.
    pub(crate) door: Arc<Door>,
    trust: Arc<dyn Trust>,
    pub(crate) blocking: Arc<dyn Blocking>,
    clock: Arc<SystemClock>,
    guard: Guard,
    /// Shared by the devices in this installation.
    secret: DeviceSecret,
}

impl Fetching {
    /// `slot`: which of a medic's processes this is; empty if none.
    pub(crate) async fn new(config: &Config, store: &Opened, clock: &Arc<SystemClock>, slot: &str) -> Result<Self> {
        let settings = config.fetch.clone();
        let guard = config.guard()?;
        let places: Arc<dyn Places> = match settings.geo_file.as_os_str().is_empty() {
            true => Arc::new(Nowhere),
            false => Arc::new(GeoPlaces::open(&settings.geo_file, guard.clone())?),
        };
        let rules =
            Rules { agent: AGENT.into(), gap_ms: settings.gap_ms, fresh_for: Duration::from_secs(settings.fresh_s) };
        let caring = Caring::new(config, store).await?;
        let options = DispatcherOptions {
            rules,
            body_bytes_max: settings.body_bytes_max,
            wait: WAIT,
            waiting_max: settings.devices_waiting_max,
            page_time_max: Duration::from_secs(settings.timeout_s),
            strategy: settings.strategy.parse()?,
            places,
            care: caring.care(store),
        };
        let (fetch, queue): (Arc<dyn Fetch>, Arc<dyn Queue>) = (store.fetch.clone(), store.queue.clone());
        let dispatcher = Dispatcher::new(fetch.clone(), queue, clock.clone(), options);
        let secret = DeviceSecret::kept(&config.data, HOUSE, slot)?
            .ok_or_else(|| anyhow!("another process fetches with {}", config.data.display()))?;
        let limits = (caring.quota, caring.prices, caring.enforce);
        let door = Door::new(limits, store.quotas.clone(), store.ledger.clone(), clock.clone());
        let (tours, trust, blocking) = (store.tours.clone(), store.trust.clone(), store.blocking.clone());
        let clock = clock.clone();
        Ok(Self { fetch, tours, dispatcher, settings, caring, door, trust, blocking, clock, guard, secret })
    }

    pub(crate) fn for_api(&self) -> malla_api::Fetching {
        malla_api::Fetching {
            pending_max: self.settings.pending_max,
            recheck_share: f64::from(self.settings.recheck_percent) / 100.0,
            body_bytes_max: self.settings.body_bytes_max,
            lanes: self.lanes(),
            backups: self.settings.backups.iter().filter(|url| !url.is_empty()).cloned().collect(),
            trust: self.caring.rules,
            prices: self.caring.prices,
            blocked: self.caring.blocked.clone(),
            control_key: self.caring.control.as_ref().map(|(_, key)| *key),
            contact: self.settings.contact.clone(),
        }
    }

    pub(crate) fn for_console(&self) -> malla_console::Fetching {
        malla_console::Fetching {
            pending_max: self.settings.pending_max,
            lanes: self.lanes(),
            trust: self.caring.rules,
            prices: self.caring.prices,
            blocked: self.caring.blocked.clone(),
        }
    }

    pub(crate) fn lanes(&self) -> LaneSettings {
        LaneSettings { ceiling: 1, gap_ms: self.settings.gap_ms }
    }

    /// Who works on crawls, watches and comparisons.
    pub(crate) fn guide(&self, stop: Stop) -> Guide {
        let options = TourOptions {
            pending_max: self.settings.pending_max,
            lanes: self.lanes(),
            found_max: self.settings.crawl_found_max,
            visits_per_day: self.settings.watch_visits_per_day,
            ..TourOptions::default()
        };
        Guide { tours: self.tours.clone(), fetch: self.fetch.clone(), clock: self.clock.clone(), options, stop }
    }

    fn getter(&self) -> Result<Getter> {
        let limits = GetLimits {
            whole: Duration::from_secs(self.settings.timeout_s),
            body_bytes: usize::try_from(self.settings.body_bytes_max).unwrap_or(usize::MAX),
            ..GetLimits::default()
        };
        Ok(Getter::new(self.guard.clone(), &user_agent(&self.settings.contact))?.with_limits(limits))
    }

    /// Fetches in this process, as the device at this place, until told to stop. Only one may be at a place.
    async fn work(self: Arc<Self>, place: usize, grace: Duration, mut stop: Stop) -> Result<()> {
        if let Some(before) = self.fetch.device_by_secret(&self.secret.hash_at(place)).await? {
            // It was killed with its process: the data directory, and so its place, is ours alone.
            self.fetch.device_left(before.id).await?;
        }
        loop {
            let device = self.join(place).await?;
            if device.blocked {
                match self.let_in_again(place, &mut stop).await {
                    true => continue,
                    false => return Ok(()),
                }
            }
            let id = device.id;
            let dispatch = Arc::new(LocalDispatch { dispatcher: self.dispatcher.clone(), device });
            let options = WorkerOptions { grace, ..WorkerOptions::default() };
            let ended = worker::run(dispatch, self.getter()?, options, stop.clone()).await;
            self.fetch.device_left(id).await?;
            match ended {
                Err(DispatchError::Refused(why)) if why == BLOCKED => {}
                ended => return Ok(ended?),
            }
        }
    }

    /// Waits until the blocked device at this place may work again; false if it was told to stop before.
    async fn let_in_again(&self, place: usize, stop: &mut Stop) -> bool {
        let (secret_hash, mut changes) = (self.secret.hash_at(place), self.fetch.devices_changed());
        loop {
            match self.fetch.device_by_secret(&secret_hash).await {
                Ok(device) if !device.as_ref().is_some_and(|device| device.blocked) => return true,
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "cannot see whether a device is blocked"),
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(BLOCKED_LOOK) => {}
                _ = stop.wait_for(|stop| *stop) => return false,
            }
        }
    }

    async fn join(&self, place: usize) -> Result<Device> {
        let device = NewDevice {
            // The same after a restart, which takes the place of the one before.
            name: format!("server-{}-{}-{place}", hostname(), self.secret.tag()),
            owner: HOUSE.into(),
            group: None,
            about: About {
                system: system(),
                version: env!("CARGO_PKG_VERSION").into(),
                hostname: hostname(),
                address: "in the server".into(),
                country: None,
                own: true,
            },
            secret_hash: self.secret.hash_at(place),
        };
        Ok(self.fetch.join(device).await?)
    }

    /// Devices at work that are not part of a server.
    async fn others(&self) -> malla_queue::Result<usize> {
        let (devices, now) = (self.fetch.devices(&Scope::All).await?, self.clock.now());
        let at_work = |device: &&Device| device.owner != HOUSE && device.state(now) == DeviceState::Online;
        Ok(devices.iter().filter(at_work).count())
    }

    /// Devices of the house that checks wait for: one, or none.
    async fn judges(&self) -> usize {
        match self.caring.rules.enabled {
            true => usize::from(self.trust.checks_waiting().await.unwrap_or(0) > 0),
            false => 0,
        }
    }

    /// Sees to it that at least `workers_min` devices are at work, by working here.
    pub(crate) async fn stand_in(self: Arc<Self>, grace: Duration, mut stop: Stop) {
        let mut workers = Workers::default();
        let mut running = JoinSet::new();
        while !*stop.borrow() {
            match self.others().await {
                Ok(others) => {
                    let wanted = self.settings.workers_min.saturating_sub(others).max(self.judges().await);
                    workers.stop_beyond(wanted);
                    while workers.at_work() < wanted {
                        let (place, told) = workers.take();
                        running.spawn(self.clone().work(place, grace, told));
                    }
                }
                Err(error) => tracing::debug!(%error, "cannot see which devices are at work"),
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                Some(ended) = running.join_next() => {
                    if let Ok(Err(error)) = ended {
                        tracing::warn!(%error, "a device in this server ended: it starts anew");
                    }
                }
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
        workers.stop_beyond(0);
        while running.join_next().await.is_some() {}
    }
}

/// How much is kept, and for how long.
pub(crate) fn keep(config: &Config) -> Keep {
    let settings = &config.fetch;
    Keep {
        cache_entries_max: settings.cache_entries_max,
        cache_bytes_max: settings.cache_mb_max.saturating_mul(1_000_000),
        jobs_for: config.kept_for(settings.jobs_days),
        devices_for: config.kept_for(settings.devices_days),
        step: TRIM_STEP,
    }
}

/// How long crawls, watches and comparisons are kept after their end: as long as their results.
pub(crate) fn keep_tours(config: &Config) -> KeepTours {
    KeepTours { tours_for: keep(config).jobs_for, step: TRIM_STEP }
}

/// Who works at which place. A place is free again when the last one there has ended entirely: who leaves gives back what
/// its device holds, and must not give back what the next one took.
#[derive(Default)]
struct Workers(BTreeMap<usize, watch::Sender<bool>>);

impl Workers {
    /// Those that were not told to stop.
    fn at_work(&self) -> usize {
        self.0.values().filter(|told| !*told.borrow() && !told.is_closed()).count()
    }

    /// The first free place, and what the one there is told.
    fn take(&mut self) -> (usize, Stop) {
        self.0.retain(|_, told| !told.is_closed());
        let place = (1..).find(|place| !self.0.contains_key(place)).expect("there are more numbers than devices");
        let (told, asked) = watch::channel(false);
        self.0.insert(place, told);
        (place, asked)
    }

    /// Tells the last ones to stop until `wanted` are left.
    fn stop_beyond(&mut self, wanted: usize) {
        let at_work = self.0.values().filter(|told| !*told.borrow() && !told.is_closed());
        for told in at_work.skip(wanted) {
            told.send_replace(true);
        }
    }
}

/// `MallaBot/0.1.0 (+contact)`.
pub(crate) fn user_agent(contact: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    if contact.is_empty() { format!("{AGENT}/{version}") } else { format!("{AGENT}/{version} (+{contact})") }
}

pub(crate) fn system() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

pub(crate) fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
