//! The settings in the types that this program works with. What they mean stands in `defaults.toml`.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::roles::Role;

/// The settings that this program reads.
#[derive(Debug, Deserialize)]
pub(crate) struct Config {
    /// Every value with its source, for people.
    #[serde(skip)]
    pub shown: Vec<super::Shown>,
    pub data: PathBuf,
    pub listen: String,
    store: String,
    store_wait_s: u64,
    store_doubt_s: u64,
    pub roles: Vec<Role>,
    shutdown_grace_s: u64,
    anonymous_role: String,
    allow_private: bool,
    allow_networks: Vec<String>,
    pub metrics_public: bool,
    metrics_listen: String,
    pub log: Log,
    tls: TlsFiles,
    pub http: Http,
    pub console: Console,
    pub queue: Queue,
    pub notify: Notify,
    pub fetch: Fetch,
    pub trust: Trust,
    pub credit: Credit,
    pub quota: Quota,
    pub wiki: Wiki,
    pub analyze: Analyze,
    bodies: Bodies,
    pub cluster: Cluster,
    pub supervise: Supervise,
    smtp: Smtp,
    pub retention: Retention,
    /// Nothing that is kept for days is kept for longer. No setting: the demo forgets within hours.
    #[serde(skip)]
    pub keep_max: Option<Duration>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Log {
    pub level: String,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Deserialize)]
struct TlsFiles {
    cert: PathBuf,
    key: PathBuf,
    ca: PathBuf,
}

/// Where the certificate is, if HTTPS is served.
pub(crate) struct Tls<'a> {
    pub cert: &'a Path,
    pub key: &'a Path,
    /// What a client on this machine trusts.
    pub ca: &'a Path,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Http {
    pub body_bytes_max: usize,
    pub request_timeout_s: u64,
    pub idempotency_keep_h: u64,
    pub connections_max: usize,
    pub head_timeout_s: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Console {
    pub session_h: u64,
    pub behind_https: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Queue {
    pub lease_s: u64,
    pub concurrency: usize,
    pub batch: usize,
    pub pending_max: u64,
    pub payload_bytes_max: usize,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Notify {
    pub concurrency: usize,
    pub batch: usize,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Fetch {
    pub contact: String,
    pub gap_ms: u64,
    pub pending_max: u64,
    pub timeout_s: u64,
    pub body_bytes_max: u64,
    pub fresh_s: u64,
    pub recheck_percent: u32,
    pub cache_entries_max: u64,
    pub cache_mb_max: u64,
    pub jobs_days: u64,
    pub crawl_found_max: u64,
    pub watch_visits_per_day: u64,
    pub strategy: String,
    pub geo_file: PathBuf,
    pub workers_min: usize,
    pub devices_waiting_max: usize,
    pub devices_days: u64,
    pub backups: Vec<String>,
    pub blocked: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Trust {
    pub enabled: bool,
    pub floor_percent: u32,
    pub strikes: u32,
    pub recover: u32,
    pub probation: u64,
    pub patience_s: u64,
    pub control_url: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Credit {
    pub enabled: bool,
    pub page_micro: u64,
    pub cached_micro: u64,
    pub share_percent: u64,
    pub escrow_pages: u64,
    pub escrow_days: u64,
    pub enforce: bool,
    pub keep_days: u64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Quota {
    pub pages_per_minute: u64,
    pub pages_per_day: u64,
    pub bytes_per_day: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Wiki {
    pub contact: String,
    pub api: String,
    pub gap_ms: u64,
    pub timeout_s: u64,
    pub maxlag: u64,
    pub answer_mb_max: usize,
    pub extractions_max: u64,
    pub keep_days: u64,
    pub revisit: String,
    pub visits_per_day: u64,
    pub reconcile_days: u64,
    pub stream: bool,
    pub stream_url: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Analyze {
    pub studies_max: u64,
    pub concurrency: usize,
    pub batch_mb_max: usize,
    pub waiting_mb_max: u64,
    pub tables_mb_max: u64,
    pub memory_mb: usize,
    pub idle_h: u64,
    pub keep_days: u64,
}

#[derive(Deserialize)]
struct Bodies {
    store: String,
    url: String,
    endpoint: String,
    region: String,
    key_id: String,
    secret: String,
    allow_http: bool,
    timeout_s: u64,
    retries: usize,
    concurrency: usize,
    inline_max_kb: usize,
    grace_h: u64,
    #[serde(rename = "move")]
    moves: bool,
}

/// Without its secret.
impl std::fmt::Debug for Bodies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bodies({} {})", self.store, self.url)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Cluster {
    heartbeat_s: u64,
    dead_after_s: u64,
    leader_lease_s: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Supervise {
    /// How many of each, over all machines.
    pub roles: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct Smtp {
    url: String,
    from: String,
}

/// Its address may hold a password.
impl std::fmt::Debug for Smtp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Smtp(from {})", self.from)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Retention {
    pub every_s: u64,
    pub tasks_days: u64,
    pub events_days: u64,
    pub audit_days: u64,
}

impl Cluster {
    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.heartbeat_s)
    }

    pub(crate) fn dead_after(&self) -> Duration {
        Duration::from_secs(self.dead_after_s)
    }

    pub(crate) fn leader_lease(&self) -> Duration {
        Duration::from_secs(self.leader_lease_s)
    }
}

impl Config {
    pub(crate) fn store_url(&self) -> String {
        match self.store.as_str() {
            "" => format!("sqlite:{}", self.data.join("malla.db").display()),
            url => url.to_owned(),
        }
    }

    /// How long something is kept of which a setting says how many days.
    pub(crate) fn kept_for(&self, days: u64) -> Duration {
        let wanted = Duration::from_secs(days * 24 * 3_600);
        self.keep_max.map_or(wanted, |most| wanted.min(most))
    }

    pub(crate) fn store_wait(&self) -> Duration {
        Duration::from_secs(self.store_wait_s)
    }

    pub(crate) fn shutdown_grace(&self) -> Duration {
        Duration::from_secs(self.shutdown_grace_s)
    }

    pub(crate) fn anonymous_role(&self) -> Option<malla_access::Role> {
        self.anonymous_role.parse().ok()
    }

    /// Which addresses may be reached from here.
    pub(crate) fn guard(&self) -> anyhow::Result<malla_reach::Guard> {
        let networks = self.allow_networks.iter().filter(|network| !network.is_empty());
        let networks: Result<Vec<_>, _> = networks.map(|network| network.parse()).collect();
        Ok(malla_reach::Guard::new(self.allow_private, networks?))
    }

    /// The server that takes e-mail, if there is one.
    pub(crate) fn mail(&self) -> anyhow::Result<Option<malla_notify::Mail>> {
        let Smtp { url, from } = &self.smtp;
        Ok((!url.is_empty()).then(|| malla_notify::Mail::new(url, from)).transpose()?)
    }

    pub(crate) fn tls(&self) -> Option<Tls<'_>> {
        let TlsFiles { cert, key, ca } = &self.tls;
        let ca = if ca.as_os_str().is_empty() { cert } else { ca };
        (!cert.as_os_str().is_empty()).then_some(Tls { cert, key, ca })
    }

    /// The authority that commands trust beside the well-known ones.
    pub(crate) fn trusted_ca(&self) -> Option<&Path> {
        Some(self.tls.ca.as_path()).filter(|ca| !ca.as_os_str().is_empty())
    }

    pub(crate) fn limits(&self) -> malla_queue::Limits {
        malla_queue::Limits {
            pending_max: self.queue.pending_max,
            payload_bytes_max: self.queue.payload_bytes_max,
            doubt_max: Duration::from_secs(self.store_doubt_s),
            ..malla_queue::Limits::default()
        }
    }

    /// The object store for large bodies, if there is one.
    pub(crate) fn bodies(&self) -> Option<malla_store::bodies::Options> {
        let bodies = &self.bodies;
        (!bodies.url.is_empty()).then(|| malla_store::bodies::Options {
            url: bodies.url.clone(),
            endpoint: bodies.endpoint.clone(),
            region: bodies.region.clone(),
            key_id: bodies.key_id.clone(),
            secret: bodies.secret.clone(),
            allow_http: bodies.allow_http,
            timeout: Duration::from_secs(bodies.timeout_s),
            retries: bodies.retries,
            concurrency: bodies.concurrency,
            takes_new: bodies.store == "objects",
            inline_bytes_max: bodies.inline_max_kb << 10,
            grace: Duration::from_secs(bodies.grace_h * 3_600),
        })
    }

    /// Whether bodies that are kept already move to where new ones go.
    pub(crate) fn moves_bodies(&self) -> bool {
        self.bodies.moves
    }

    /// What no key can say for itself.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.tls.cert.as_os_str().is_empty() != self.tls.key.as_os_str().is_empty() {
            return Err("tls.cert and tls.key belong together: give both, or neither");
        }
        if !self.metrics_public && !self.metrics_listen.is_empty() {
            return Err("metrics_listen asks nobody for a token: leave it empty, or metrics_public at true");
        }
        if self.cluster.dead_after_s < 3 * self.cluster.heartbeat_s {
            return Err("cluster.dead_after_s is too short: give at least three times cluster.heartbeat_s");
        }
        if self.bodies.store == "objects" && self.bodies.url.is_empty() {
            return Err("bodies.store is objects, and bodies.url names no object store: give s3://BUCKET/PREFIX");
        }
        if self.bodies.key_id.is_empty() != self.bodies.secret.is_empty() {
            return Err("bodies.key_id and bodies.secret belong together: give both, or neither");
        }
        if self.bodies.endpoint.starts_with("http://") && !self.bodies.allow_http {
            return Err(
                "bodies.endpoint is http://: give https://, or set bodies.allow_http if nobody else is on that wire",
            );
        }
        Ok(())
    }

    /// Where to listen.
    pub(crate) fn listen_address(&self) -> anyhow::Result<SocketAddr> {
        address(&self.listen)
    }

    /// Where a process without the API shows its metrics, if it does.
    pub(crate) fn metrics_address(&self) -> anyhow::Result<Option<SocketAddr>> {
        Some(&self.metrics_listen).filter(|text| !text.is_empty()).map(|text| address(text)).transpose()
    }
}

/// A name may stand for several addresses, the first one counts.
fn address(text: &str) -> anyhow::Result<SocketAddr> {
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| anyhow::anyhow!("cannot listen on \"{text}\": give ADDRESS:PORT, as in 127.0.0.1:7070"))
}
