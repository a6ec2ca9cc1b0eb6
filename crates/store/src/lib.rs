//! The rooms' verbs on SQLite (embedded) and PostgreSQL (shared). SQL lives here and nowhere else.
//!
//! Each verb is one transaction. Both stores pass the same conformance suite, `tests/it/conformance`, and agree with
//! a small model under random verbs, `tests/it/model.rs`.

mod alert_rows;
mod analyze_ends;
mod analyze_rows;
mod arrivals;
mod causes;
mod checks;
mod codes;
mod counting;
mod crashing;
mod fetch_paces;
mod fetch_plan;
mod fetch_rows;
mod figures;
mod keeping;
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
mod searching;
pub mod sqlite;
mod taken;
mod verifying;
mod wiki_ask;
mod wiki_change;
mod wiki_revisions;
mod wiki_rows;

use std::path::Path;
use std::sync::Arc;

use malla_access::Access;
use malla_analyze::Analyze;
use malla_fetch::Fetch;
use malla_notify::{Alerts, Notify, Statistics};
use malla_queue::{Error, Limits, Queue, Result, SystemClock};
use malla_wiki::Wikis;

/// A store, whichever it is.
pub struct Opened {
    pub queue: Arc<dyn Queue>,
    pub access: Arc<dyn Access>,
    pub notify: Arc<dyn Notify>,
    pub statistics: Arc<dyn Statistics>,
    pub alerts: Arc<dyn Alerts>,
    pub fetch: Arc<dyn Fetch>,
    pub analyze: Arc<dyn Analyze>,
    pub wikis: Arc<dyn Wikis>,
    /// `sqlite` or `postgres`.
    pub backend: &'static str,
    which: Which,
}

enum Which {
    Sqlite(Arc<sqlite::Sqlite>),
    Postgres(Arc<postgres::Postgres>),
}

impl Opened {
    /// Writes out what is in hand. Verbs after this are refused.
    pub async fn close(&self) {
        match &self.which {
            Which::Sqlite(store) => store.close().await,
            Which::Postgres(store) => store.close(),
        }
    }
}

/// Opens the store that `url` names (`sqlite:PATH`, `postgres://…`), making or migrating it if need be.
pub async fn open(url: &str, clock: Arc<SystemClock>, limits: Limits) -> Result<Opened> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let store = sqlite::Sqlite::open(Path::new(path), clock, limits).await?;
        return Ok(Opened {
            queue: store.clone(),
            access: store.clone(),
            notify: store.clone(),
            statistics: store.clone(),
            alerts: store.clone(),
            fetch: store.clone(),
            analyze: store.clone(),
            wikis: store.clone(),
            backend: "sqlite",
            which: Which::Sqlite(store),
        });
    }
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        let store = postgres::Postgres::open(url, clock.clone(), limits).await?;
        tokio::spawn(postgres::Postgres::keep_time(store.pool(), clock));
        return Ok(Opened {
            queue: store.clone(),
            access: store.clone(),
            notify: store.clone(),
            statistics: store.clone(),
            alerts: store.clone(),
            fetch: store.clone(),
            analyze: store.clone(),
            wikis: store.clone(),
            backend: "postgres",
            which: Which::Postgres(store),
        });
    }
    Err(Error::Invalid(format!("\"{}\" is not a store: use sqlite:PATH or postgres://…", without_password(url))))
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
