//! The rooms' verbs on SQLite (embedded) and PostgreSQL (shared). SQL lives here and nowhere else.
//!
//! Each verb is one transaction. Both stores pass the same conformance suite, `tests/it/conformance`, and agree with
//! a small model under random verbs, `tests/it/model.rs`.

mod alert_rows;
mod analyze_ends;
mod analyze_rows;
mod arrivals;
pub mod bodies;
mod causes;
mod checks;
mod cluster_rows;
mod codes;
mod counting;
mod crashing;
mod fetch_paces;
mod fetch_plan;
mod fetch_rows;
mod figures;
mod keeping;
mod ledger;
mod listing;
mod listing_analyze;
mod listing_fetch;
mod listing_notify;
mod listing_wiki;
mod nonces;
mod notify_pages;
mod notify_rows;
mod packing;
mod place;
pub mod postgres;
mod refusing;
mod rows;
mod searching;
pub mod sqlite;
mod taken;
mod tour_rows;
mod trust;
mod trust_cases;
mod verifying;
mod wiki_ask;
mod wiki_change;
mod wiki_figures;
mod wiki_revisions;
mod wiki_rows;

use std::path::Path;
use std::sync::Arc;

use bodies::Bodies;
use malla_access::Access;
use malla_analyze::Analyze;
use malla_cluster::{Cluster, Term};
use malla_fetch::Fetch;
use malla_fetch::blocklist::Blocking;
use malla_fetch::ledger::Ledger;
use malla_fetch::quota::Quotas;
use malla_fetch::tour::Tours;
use malla_fetch::trust::Trust;
use malla_notify::{Alerts, Notify, Statistics};
use malla_queue::{Error, Limits, Queue, Result, SystemClock};
use malla_wiki::Wikis;

#[cfg(feature = "crash-points")]
pub use crashing::be_the_next_version;

/// A store, whichever it is.
pub struct Opened {
    pub queue: Arc<dyn Queue>,
    pub access: Arc<dyn Access>,
    pub notify: Arc<dyn Notify>,
    pub statistics: Arc<dyn Statistics>,
    pub alerts: Arc<dyn Alerts>,
    pub fetch: Arc<dyn Fetch>,
    pub tours: Arc<dyn Tours>,
    pub trust: Arc<dyn Trust>,
    pub ledger: Arc<dyn Ledger>,
    pub blocking: Arc<dyn Blocking>,
    pub quotas: Arc<dyn Quotas>,
    pub analyze: Arc<dyn Analyze>,
    pub wikis: Arc<dyn Wikis>,
    pub cluster: Arc<dyn Cluster>,
    pub bodies: Arc<dyn Bodies>,
    /// `sqlite` or `postgres`.
    pub backend: &'static str,
    which: Which,
}

enum Which {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
}

impl Opened {
    /// Whether other processes may work on the same store.
    pub fn is_shared(&self) -> bool {
        matches!(self.which, Which::Postgres(_))
    }

    /// Writes out what is in hand. Verbs after this are refused.
    pub async fn close(&self) {
        match &self.which {
            Which::Sqlite(store) => store.close().await,
            Which::Postgres(store) => store.close(),
        }
    }

    /// The same store, for the duties of the leader of this term: whatever is written through it is refused with
    /// [`Error::Deposed`] once another term began, checked in the transaction that writes.
    pub fn under(&self, term: Term) -> Opened {
        match &self.which {
            Which::Sqlite(store) => {
                let store = store.under(term);
                opened(store.clone(), self.backend, Which::Sqlite(store))
            }
            Which::Postgres(store) => {
                let store = store.under(term);
                opened(store.clone(), self.backend, Which::Postgres(store))
            }
        }
    }
}

/// Opens the store that `url` names (`sqlite:PATH`, `postgres://…`), making or migrating it if need be.
///
/// Nodes of the version before keep working on a store that was migrated while they had it open, so that a cluster can be
/// updated node by node: a migration only adds (tables, columns that may be empty, indexes, functions with new names or the
/// same arguments). What it makes superfluous is removed by the next version: expand first, contract a version later. A node
/// that is started on a store of a newer version refuses.
pub async fn open(url: &str, clock: Arc<SystemClock>, limits: Limits) -> Result<Opened> {
    open_with(url, clock, limits, None).await
}

/// As [`open`], with large bodies in an object store.
pub async fn open_with(
    url: &str,
    clock: Arc<SystemClock>,
    limits: Limits,
    bodies: Option<&bodies::Options>,
) -> Result<Opened> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let store = sqlite::Sqlite::open_with(Path::new(path), clock, limits, bodies).await?;
        return Ok(opened(store.clone(), "sqlite", Which::Sqlite(store)));
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let store = postgres::Postgres::open_with(url, clock.clone(), limits, bodies).await?;
        tokio::spawn(postgres::Postgres::keep_time(store.pool(), clock));
        return Ok(opened(store.clone(), "postgres", Which::Postgres(store)));
    }
    Err(Error::Invalid(format!("\"{}\" is not a store: use sqlite:PATH or postgres://…", without_password(url))))
}

fn opened<S>(store: Arc<S>, backend: &'static str, which: Which) -> Opened
where
    S: Queue
        + Access
        + Notify
        + Statistics
        + Alerts
        + Fetch
        + Tours
        + Trust
        + Ledger
        + Blocking
        + Quotas
        + Analyze
        + Wikis
        + Cluster
        + Bodies,
{
    Opened {
        queue: store.clone(),
        access: store.clone(),
        notify: store.clone(),
        statistics: store.clone(),
        alerts: store.clone(),
        fetch: store.clone(),
        tours: store.clone(),
        trust: store.clone(),
        ledger: store.clone(),
        blocking: store.clone(),
        quotas: store.clone(),
        analyze: store.clone(),
        wikis: store.clone(),
        cluster: store.clone(),
        bodies: store,
        backend,
        which,
    }
}

/// The URL as it may stand in a log.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rfind('@')) {
        (Some((scheme, rest)), Some(at)) => {
            let user = rest.split([':', '@']).next().unwrap_or_default();
            format!("{scheme}://{user}:…{}", &url[at..])
        }
        _ => url.to_owned(),
    }
}
