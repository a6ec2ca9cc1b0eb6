//! The console: server-rendered pages that work without JavaScript and are live with it.
//!
//! Pages are plain functions from what the rooms' verbs answer to markup. No SQL, no JSON API, no configuration here.

#[macro_use]
mod tongue;

mod analyze;
mod assets;
mod audit;
mod bars;
mod caller;
mod cluster;
mod content;
mod cookie;
mod difference;
mod each;
mod export;
mod fetch;
mod form;
mod frame;
mod gate;
mod groups;
mod heat;
mod icons;
mod lanes;
mod listing;
mod live;
mod login;
mod many;
mod notify;
mod overview;
mod owner;
mod params;
mod parts;
mod plot;
mod pulse;
mod refusal;
mod routes;
mod settings;
mod shots;
mod spark;
mod tasks;
mod theme;
mod tokens;
mod users;
mod visitor;
mod wiki;
mod words;

use std::sync::Arc;
use std::time::Duration;

use malla_access::{Access, Passwords, Role, Secret};
use malla_analyze::Analyze;
use malla_cluster::Cluster;
use malla_fetch::Fetch;
use malla_fetch::blocklist::{Blocking, Blocklist};
use malla_fetch::door::Door;
use malla_fetch::ledger::{Ledger, Prices};
use malla_fetch::tour::Tours;
use malla_fetch::trust::{Trust, TrustRules};
use malla_notify::{Alerts, Intake, Notify, Statistics};
use malla_queue::{Clock, LaneSettings, Queue, UnixMs};
use malla_wiki::{Asking, Reader, Wikis};
use tokio::sync::Semaphore;

use crate::gate::Gate;
use crate::pulse::Pulse;
use crate::shots::Shots;

/// Live streams in one process; each renders its page about once a second.
const STREAMS_MAX: usize = 256;
/// Answers of analyses under way that are made at once: each reads all that is known.
const SO_FAR_AT_ONCE: usize = 2;
/// Histories that are measured, and texts that are compared, at once.
const MEASURED_AT_ONCE: usize = 2;

#[derive(Debug, Clone)]
pub struct Settings {
    /// The console is reached over HTTPS only.
    pub secure_cookies: bool,
    pub session_lasts: Duration,
    /// What somebody without a session may do; `None` sends them to the login.
    pub anonymous_role: Option<Role>,
    pub version: &'static str,
    /// What the process runs with, in the order of the keys; secrets are masked.
    pub effective: Vec<Setting>,
}

/// A value of the configuration as an admin may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// `http.body_bytes_max`
    pub key: String,
    pub value: String,
    /// `default`, `file malla.toml`, `variable MALLA_LISTEN`, `flag --listen`
    pub source: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            secure_cookies: false,
            session_lasts: Duration::from_secs(12 * 3600),
            anonymous_role: None,
            version: env!("CARGO_PKG_VERSION"),
            effective: Vec::new(),
        }
    }
}

/// What a new fetch job needs to know.
#[derive(Debug, Clone)]
pub struct Fetching {
    /// Pages that may wait in the house at most.
    pub pending_max: u64,
    /// For the lanes of sites that are met for the first time.
    pub lanes: LaneSettings,
    pub trust: TrustRules,
    pub prices: Prices,
    pub blocked: Blocklist,
}

impl Default for Fetching {
    fn default() -> Self {
        Self {
            pending_max: 10_000,
            lanes: LaneSettings { ceiling: 1, gap_ms: malla_fetch::GAP_MS },
            trust: TrustRules::default(),
            prices: Prices::default(),
            blocked: Blocklist::default(),
        }
    }
}

/// Everything the pages stand on.
pub struct Services {
    pub queue: Arc<dyn Queue>,
    pub access: Arc<dyn Access>,
    pub notify: Arc<dyn Notify>,
    pub statistics: Arc<dyn Statistics>,
    pub alerts: Arc<dyn Alerts>,
    /// Takes the events in that people try their endpoints with.
    pub intake: Arc<Intake>,
    pub fetch: Arc<dyn Fetch>,
    pub fetching: Fetching,
    pub tours: Arc<dyn Tours>,
    pub trust: Arc<dyn Trust>,
    pub ledger: Arc<dyn Ledger>,
    pub blocking: Arc<dyn Blocking>,
    /// What clients may ask for.
    pub door: Arc<Door>,
    pub analyze: Arc<dyn Analyze>,
    pub wikis: Arc<dyn Wikis>,
    /// Takes extractions in.
    pub asking: Arc<Asking>,
    /// Pages of a wiki that are asked about on a day without anybody wanting it, at most.
    pub visits_per_day: u64,
    pub cluster: Arc<dyn Cluster>,
    /// Members that were not heard of for this long are lost.
    pub dead_after: Duration,
    pub clock: Arc<dyn Clock>,
    pub passwords: Passwords,
    pub settings: Settings,
}

/// The console's routes, its assets and, for every other address, a page that says so.
pub fn router(services: Services) -> axum::Router {
    let house = Arc::new(House::new(services));
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(pulse::beat(Arc::downgrade(&house)));
    }
    routes::router(Console(house))
}

/// What every handler shares.
#[derive(Clone)]
pub(crate) struct Console(Arc<House>);

impl std::ops::Deref for Console {
    type Target = House;

    fn deref(&self) -> &House {
        &self.0
    }
}

pub(crate) struct House {
    queue: Arc<dyn Queue>,
    access: Arc<dyn Access>,
    notify: Arc<dyn Notify>,
    statistics: Arc<dyn Statistics>,
    alerts: Arc<dyn Alerts>,
    intake: Arc<Intake>,
    fetch: Arc<dyn Fetch>,
    fetching: Fetching,
    tours: Arc<dyn Tours>,
    trust: Arc<dyn Trust>,
    ledger: Arc<dyn Ledger>,
    blocking: Arc<dyn Blocking>,
    door: Arc<Door>,
    analyze: Arc<dyn Analyze>,
    wikis: Arc<dyn Wikis>,
    reader: Reader,
    asking: Arc<Asking>,
    visits_per_day: u64,
    cluster: Arc<dyn Cluster>,
    dead_after: Duration,
    clock: Arc<dyn Clock>,
    passwords: Passwords,
    settings: Settings,
    gate: Gate,
    streams: Arc<Semaphore>,
    /// What the rooms did in the last hour.
    pulse: Pulse,
    /// What live pages show, shared by those who look.
    shots: Shots,
    /// Turns to make answers of what is known so far.
    so_far: Semaphore,
    /// Turns to measure a history or to compare two texts.
    measuring: Arc<Semaphore>,
    /// What the forms of somebody without a session carry: a foreign site cannot read it.
    anonymous_csrf: String,
}

impl House {
    fn new(services: Services) -> Self {
        let csrf = Secret::random("").expect("the operating system gives random bytes");
        Self {
            gate: Gate::new(services.clock.clone()),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            pulse: Pulse::default(),
            shots: Shots::new(),
            so_far: Semaphore::new(SO_FAR_AT_ONCE),
            measuring: Arc::new(Semaphore::new(MEASURED_AT_ONCE)),
            anonymous_csrf: csrf.reveal().to_owned(),
            queue: services.queue,
            access: services.access,
            notify: services.notify,
            statistics: services.statistics,
            alerts: services.alerts,
            intake: services.intake,
            fetch: services.fetch,
            fetching: services.fetching,
            tours: services.tours,
            trust: services.trust,
            ledger: services.ledger,
            blocking: services.blocking,
            door: services.door,
            analyze: services.analyze,
            reader: Reader::new(services.wikis.clone()),
            wikis: services.wikis,
            asking: services.asking,
            visits_per_day: services.visits_per_day,
            cluster: services.cluster,
            dead_after: services.dead_after,
            clock: services.clock,
            passwords: services.passwords,
            settings: services.settings,
        }
    }

    fn now(&self) -> UnixMs {
        self.clock.now()
    }
}
