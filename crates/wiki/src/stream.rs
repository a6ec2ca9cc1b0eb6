//! Hears of changes as they happen, from a stream of events as Wikimedia has one, and sends for the pages that are kept.
//!
//! Nothing depends on it: what was missed is found by the next planned visit.

mod sse;
mod titles;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use malla_queue::{Error, Kind, NewTask, Priority, Queue, Result, RetryDelays};
use reqwest::header::{ACCEPT, HeaderName};
use reqwest::{Client, Response};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::extraction::PROBE;
use crate::page::PageId;
use crate::revision::RevId;
use crate::site::{Wiki, WikiId, lane_of, lane_settings};
use crate::verbs::Wikis;
use sse::Events;
use titles::Titles;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const CONNECT_MAX: Duration = Duration::from_secs(15);
/// A stream that says nothing for so long is dead: even a quiet one has its heartbeat.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// The shortest and longest wait before the stream is opened again.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Changes are gathered for so long, so that many edits are one request.
const GATHER: Duration = Duration::from_secs(5);
/// What is kept is looked up anew.
const LOOK_UP_EVERY: Duration = Duration::from_secs(600);
/// Pages asked about with one request.
const PROBED: usize = 50;
/// Changed pages of a wiki that wait to be sent for. What is beyond is left to the planned visits.
const WAITING_MAX: usize = 1_000;

#[derive(Debug, Clone)]
pub struct ListenerOptions {
    pub url: Url,
    /// Who asks. Without it no request leaves.
    pub contact: String,
    pub gap_ms: u64,
}

/// Listens to a stream of changes. One of them is at work at a time: the leader's.
pub struct Listener {
    wikis: Arc<dyn Wikis>,
    queue: Arc<dyn Queue>,
    client: Client,
    options: ListenerOptions,
}

/// A change, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Change {
    #[serde(rename = "type")]
    kind: String,
    server_name: String,
    title: String,
    revision: Option<Revisions>,
}

#[derive(Debug, Deserialize)]
struct Revisions {
    new: Option<i64>,
}

/// What outlives a connection.
#[derive(Default)]
struct Heard {
    /// Where the stream goes on after a break.
    last_id: Option<String>,
    titles: Titles,
    looked_up: Option<Instant>,
    /// Pages that have changed and were not sent for yet.
    waiting: BTreeMap<WikiId, BTreeSet<PageId>>,
    sent: Option<Instant>,
}

impl Listener {
    pub fn new(wikis: Arc<dyn Wikis>, queue: Arc<dyn Queue>, options: ListenerOptions) -> Result<Self> {
        if options.contact.trim().is_empty() {
            return Err(Error::NotAvailable("a stream of changes must be told who listens: set wiki.contact".into()));
        }
        // Whoever installed another provider first keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let agent = format!("Malla/{} (+{})", env!("CARGO_PKG_VERSION"), options.contact.trim());
        let client = Client::builder().user_agent(agent).no_proxy().connect_timeout(CONNECT_MAX).build();
        let client = client.map_err(|error| Error::Internal(format!("there is no HTTP client: {error:?}")))?;
        Ok(Self { wikis, queue, client, options })
    }

    /// Listens until `shutdown` turns true, and opens the stream again whenever it breaks off.
    pub async fn run(&self, mut shutdown: watch::Receiver<bool>) {
        tokio::select! {
            () = self.listen_for_ever() => {}
            _ = shutdown.wait_for(|stop| *stop) => {}
        }
    }

    async fn listen_for_ever(&self) {
        let mut heard = Heard::default();
        let mut back_off = BACK_OFF.0;
        loop {
            let opened = Instant::now();
            let error = self.listen(&mut heard).await.err().unwrap_or_else(|| "it ended".into());
            // A stream that held for a while is opened again at once; one that does not open is left in peace.
            back_off = if opened.elapsed() > SILENCE_MAX { BACK_OFF.0 } else { (back_off * 2).min(BACK_OFF.1) };
            tracing::info!(url = %self.options.url, "the stream of changes broke off: {error}; again in {back_off:?}");
            sleep(back_off).await;
        }
    }

    async fn listen(&self, heard: &mut Heard) -> Result<(), String> {
        let mut stream = self.open(heard.last_id.as_deref()).await?;
        let mut events = Events::default();
        let mut silent_since = Instant::now();
        loop {
            self.look_up(heard).await.map_err(|error| error.to_string())?;
            // Wakes to send what was gathered even if nothing comes.
            match timeout(GATHER, stream.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    silent_since = Instant::now();
                    for event in events.take(&bytes) {
                        self.hear(heard, &event.data).await.map_err(|error| error.to_string())?;
                        heard.last_id = event.id.or(heard.last_id.take());
                    }
                }
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(error.to_string()),
                Err(_) if silent_since.elapsed() > SILENCE_MAX => return Err("it fell silent".into()),
                Err(_) => {}
            }
            if heard.sent.get_or_insert_with(Instant::now).elapsed() >= GATHER {
                heard.sent = Some(Instant::now());
                self.send(heard).await.map_err(|error| error.to_string())?;
            }
        }
    }

    async fn open(&self, last_id: Option<&str>) -> Result<Response, String> {
        let mut request = self.client.get(self.options.url.clone()).header(ACCEPT, "text/event-stream");
        if let Some(id) = last_id {
            request = request.header(LAST_EVENT_ID, id);
        }
        let answer = timeout(SILENCE_MAX, request.send()).await.map_err(|_| "it did not answer".to_owned())?;
        answer.and_then(Response::error_for_status).map_err(|error| error.to_string())
    }

    async fn look_up(&self, heard: &mut Heard) -> Result<()> {
        if heard.looked_up.is_none_or(|at| at.elapsed() >= LOOK_UP_EVERY) {
            heard.titles = Titles::read(&*self.wikis).await?;
            heard.looked_up = Some(Instant::now());
        }
        Ok(())
    }

    /// Notes the pages that a change is about, if they are kept and it is not known.
    async fn hear(&self, heard: &mut Heard, data: &str) -> Result<()> {
        let Ok(change) = serde_json::from_str::<Change>(data) else { return Ok(()) };
        if !matches!(change.kind.as_str(), "edit" | "new") {
            return Ok(());
        }
        let new = change.revision.and_then(|revisions| revisions.new).map(RevId);
        let found: Vec<(WikiId, PageId)> =
            heard.titles.find(&change.server_name, &change.title).map(|(wiki, pageid)| (wiki.id, pageid)).collect();
        for (wiki, pageid) in found {
            let Some(page) = self.wikis.page(wiki, pageid).await? else { continue };
            let is_news = page.newest.is_none_or(|newest| Some(newest.revid) != new);
            let waiting = heard.waiting.entry(wiki).or_default();
            if page.facts.title == change.title && page.complete_at.is_some() && is_news && waiting.len() < WAITING_MAX
            {
                waiting.insert(pageid);
            }
        }
        Ok(())
    }

    /// Sends for what has changed: one request of a wiki at a time, the rest when that is done.
    async fn send(&self, heard: &mut Heard) -> Result<()> {
        heard.waiting.retain(|_, pages| !pages.is_empty());
        for (id, waiting) in &mut heard.waiting {
            let Some(wiki) = heard.titles.wiki(*id) else {
                waiting.clear();
                continue;
            };
            let pages: Vec<PageId> = waiting.iter().copied().take(PROBED).collect();
            let submitted = self.queue.submit(vec![self.probe(wiki, &pages)?], None).await?;
            if submitted.first().is_some_and(|submitted| submitted.new) {
                waiting.retain(|pageid| !pages.contains(pageid));
            }
        }
        Ok(())
    }

    fn probe(&self, wiki: &Wiki, pages: &[PageId]) -> Result<NewTask> {
        let payload = json!({ "wiki": wiki.id, "pages": pages }).to_string();
        Ok(NewTask {
            lane_settings: lane_settings(self.options.gap_ms),
            group: wiki.group,
            priority: Priority::Low,
            dedup: Some(format!("{PROBE} {} heard", wiki.id)),
            retry: RetryDelays::seconds([30, 120]),
            ..NewTask::new(lane_of(&wiki.api)?, Kind::new(PROBE), payload)
        })
    }
}

#[cfg(test)]
mod tests;
