//! The HTTP API: routes, who may call them, problems, OpenAPI, and the layers every request passes.
//!
//! Handlers translate between [`malla_protocol`] and the verbs of the rooms, and hold no rules of their own.
//! No SQL and no HTML here; configuration is handed in.

mod auth;
mod cursor;
mod layers;
mod linger;
mod observe;
mod openapi;
mod problem;
mod query;
mod routes;
mod view;
mod write;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use malla_access::{Access, Passwords, Role};
use malla_analyze::{Analyst, Analyze, OnArrival, Recent};
use malla_cluster::Cluster;
use malla_fetch::blocklist::{Blocking, Blocklist};
use malla_fetch::door::Door;
use malla_fetch::ledger::{Ledger, Prices};
use malla_fetch::tour::Tours;
use malla_fetch::trust::{Trust, TrustRules};
use malla_fetch::{Dispatcher, Fetch};
use malla_notify::{Alerts, Intake, Notify, Statistics};
use malla_queue::{Clock, LaneSettings, Limits, Queue};
use malla_wiki::{Asking, Wikis};
use tokio::sync::{Mutex, MutexGuard, OwnedSemaphorePermit, Semaphore};

pub use layers::layers;
pub use routes::health::{Watched, watched};

/// Live views open at once, over all callers.
const TAILS_MAX: usize = 200;
/// Bodies of events in memory at once, until they are safe: 256 MiB.
const INTAKE_KIB_MAX: u32 = 256 * 1024;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes of a request's body, after unpacking.
    pub body_bytes_max: usize,
    /// Until an answer begins. Live views go on for as long as they like after that.
    pub request_timeout: Duration,
    /// What a caller without a token may do; `None` turns them away.
    pub anonymous_role: Option<Role>,
    /// Whether `/metrics` needs no token.
    pub metrics_public: bool,
    /// Whether cookies travel over TLS only. Handlers here set none; whoever does finds the word with the others.
    pub secure_cookies: bool,
    /// How long an `Idempotency-Key` is remembered.
    pub idempotency_keep: Duration,
    /// What the queue takes at most, so that a refusal can name the task it is about.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes_max: 1024 * 1024,
            request_timeout: Duration::from_secs(30),
            anonymous_role: None,
            metrics_public: true,
            secure_cookies: false,
            idempotency_keep: Duration::from_secs(24 * 3600),
            limits: Limits::default(),
        }
    }
}

/// What the operator decides about fetching.
#[derive(Debug, Clone)]
pub struct Fetching {
    /// Pages that may wait at most.
    pub pending_max: u64,
    /// The share of fresh cached pages that are asked about all the same.
    pub recheck_share: f64,
    /// Bytes of a page's body.
    pub body_bytes_max: u64,
    /// For the lanes of sites that are met for the first time.
    pub lanes: LaneSettings,
    /// Other servers that devices may turn to.
    pub backups: Vec<String>,
    pub trust: TrustRules,
    pub prices: Prices,
    pub blocked: Blocklist,
    /// The key of our own control site, if there is one.
    pub control_key: Option<[u8; 32]>,
    /// Whom an owner of a site can turn to.
    pub contact: String,
}

impl Default for Fetching {
    fn default() -> Self {
        Self {
            pending_max: 10_000,
            recheck_share: 0.01,
            body_bytes_max: 10 << 20,
            lanes: LaneSettings { ceiling: 1, gap_ms: malla_fetch::GAP_MS },
            backups: Vec::new(),
            trust: TrustRules::default(),
            prices: Prices::default(),
            blocked: Blocklist::default(),
            control_key: None,
            contact: String::new(),
        }
    }
}

/// What the operator decides about analyses.
#[derive(Clone)]
pub struct AnalyzeOptions {
    /// Analyses that may be under way at once.
    pub studies_max: u64,
    /// Bytes of a batch, after unpacking.
    pub batch_bytes_max: usize,
    /// Packed bytes of batches that may wait to be worked on.
    pub waiting_bytes_max: u64,
    /// Packed bytes of the tables that come before the records of a city.
    pub dimension_bytes_max: u64,
    /// Bytes of batches in memory until they are safe; whoever comes with more has to wait. Unpacking them takes as much
    /// again at worst.
    pub in_hand_bytes_max: usize,
    /// Whoever works on batches in this process.
    pub here: Option<AnalystHere>,
}

/// An analyst in the same process: what comes in is mapped at once if possible, or else left where it finds it.
#[derive(Clone)]
pub struct AnalystHere {
    pub analyst: Arc<Analyst>,
    pub when: OnArrival,
    pub recent: Arc<Recent>,
}

impl Default for AnalyzeOptions {
    fn default() -> Self {
        Self {
            studies_max: 2,
            batch_bytes_max: 64_000_000,
            waiting_bytes_max: 4_000_000_000,
            dimension_bytes_max: 64_000_000,
            in_hand_bytes_max: 256_000_000,
            here: None,
        }
    }
}

/// What the handlers work with.
pub struct Services {
    pub queue: Arc<dyn Queue>,
    pub access: Arc<dyn Access>,
    pub notify: Arc<dyn Notify>,
    pub statistics: Arc<dyn Statistics>,
    pub alerts: Arc<dyn Alerts>,
    /// Takes events in.
    pub intake: Arc<Intake>,
    pub fetch: Arc<dyn Fetch>,
    /// Crawls, watches and comparisons.
    pub tours: Arc<dyn Tours>,
    /// Gives work to devices.
    pub dispatcher: Arc<Dispatcher>,
    pub fetching: Fetching,
    pub trust: Arc<dyn Trust>,
    pub ledger: Arc<dyn Ledger>,
    pub blocking: Arc<dyn Blocking>,
    /// What clients may ask for.
    pub door: Arc<Door>,
    pub analyze: Arc<dyn Analyze>,
    pub analyzing: AnalyzeOptions,
    pub wikis: Arc<dyn Wikis>,
    /// Takes extractions in.
    pub asking: Arc<Asking>,
    pub cluster: Arc<dyn Cluster>,
    /// Members that were not heard of for this long are lost.
    pub dead_after: Duration,
    pub clock: Arc<dyn Clock>,
    pub passwords: Passwords,
    /// The metrics as Prometheus text.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// `sqlite` or `postgres`: what is away when the store is.
    pub backend: &'static str,
    /// Says why not while the process starts or stops. Live views end with it.
    pub ready: Arc<dyn Fn() -> Result<Option<String>, String> + Send + Sync>,
    pub settings: Settings,
}

/// Every route: `/in/{endpoint}`, `/api/v1/**`, `/livez`, `/readyz`, `/metrics`, `/openapi.json` and `/docs`.
/// It has no fallback, so that it merges with others; [`layers`] answers for what is unknown.
pub fn router(services: Services) -> axum::Router {
    let app = App(Arc::new(Inner {
        turns: routes::analyze::Turns::new(&services.analyzing),
        wiki_turns: routes::wiki::Turns::new(),
        services,
        tails: Arc::new(Semaphore::new(TAILS_MAX)),
        intake: Arc::new(Semaphore::new(INTAKE_KIB_MAX as usize)),
        edits: Mutex::new(()),
        absence: routes::health::Absence::default(),
    }));
    let (routes, document) = openapi::document(routes::all());
    routes.with_state(app).merge(openapi::docs(document))
}

/// The services as handlers get them.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    services: Services,
    tails: Arc<Semaphore>,
    intake: Arc<Semaphore>,
    edits: Mutex<()>,
    absence: routes::health::Absence,
    turns: routes::analyze::Turns,
    wiki_turns: routes::wiki::Turns,
}

impl App {
    /// A turn to hold a live view open; `None` if too many are.
    pub(crate) fn tail_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.tails).try_acquire_owned().ok()
    }

    /// Room for the body of an event on its way in; `None` if too many bytes are.
    pub(crate) fn intake_room(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes.div_ceil(1024)).ok()?;
        Arc::clone(&self.0.intake).try_acquire_many_owned(kib).ok()
    }

    /// Turns to do what takes memory for analyses.
    pub(crate) fn turns(&self) -> &routes::analyze::Turns {
        &self.0.turns
    }

    /// Turns to do what takes memory for histories.
    pub(crate) fn wiki_turns(&self) -> &routes::wiki::Turns {
        &self.0.wiki_turns
    }

    /// Since when the store is away.
    pub(crate) fn absence(&self) -> &routes::health::Absence {
        &self.0.absence
    }

    /// A turn to read something, edit it and write it back, so that no change of a field is lost to another's.
    pub(crate) async fn edit_turn(&self) -> MutexGuard<'_, ()> {
        self.0.edits.lock().await
    }
}

impl Deref for App {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.0.services
    }
}
