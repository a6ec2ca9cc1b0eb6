//! A wiki on loopback that speaks enough of MediaWiki's action API for a history to be read. It notes when it was asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::get;
use axum::{Router, http};
use clap::Args;
use serde_json::json;
use tokio::task::JoinHandle;

use super::histories::{Edits, Shape, title};
use crate::mediawiki::{Article, Asked, DISCOVERY, Library};

#[derive(Debug, Clone, Args)]
pub(crate) struct Manners {
    #[arg(long, default_value_t = 3)]
    pages: u64,
    /// Revisions of each page
    #[arg(long, default_value_t = 120)]
    revisions: u64,
    /// Milliseconds before an answer
    #[arg(long, default_value_t = 0)]
    takes_ms: u64,
    /// The gap that must be kept, in milliseconds
    #[arg(long, default_value_t = 0)]
    gap_ms: u64,
}

/// Serves until its standard input ends, then prints what it saw.
pub(crate) async fn serve(manners: Manners) -> Result<()> {
    let shape = Shape { pages: manners.pages, revisions: manners.revisions, paragraphs: 8, users: 40 };
    let wiki = SmallWiki::start(shape, Duration::from_millis(manners.takes_ms)).await?;
    println!("{}", wiki.url);
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    let seen = wiki.seen();
    let ms = seen.gap_min.map(|gap| gap.as_secs_f64() * 1e3);
    let short = ms.is_some_and(|ms| ms < manners.gap_ms as f64);
    let told =
        json!({ "requests": seen.requests, "gap_min_ms": ms, "too_soon": short, "overlapping": seen.overlapping });
    println!("{told}");
    Ok(())
}

/// Ends when it is dropped.
pub(crate) struct SmallWiki {
    pub(crate) url: String,
    wiki: Arc<Wiki>,
    serving: JoinHandle<()>,
}

struct Wiki {
    library: Library,
    takes: Duration,
    seen: Mutex<Seen>,
}

/// What it saw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) first: Option<Instant>,
    pub(crate) last: Option<Instant>,
    pub(crate) gap_min: Option<Duration>,
    /// Requests that came while another was being answered.
    pub(crate) overlapping: u64,
    busy: u64,
}

impl SmallWiki {
    /// Every answer takes so long.
    pub(crate) async fn start(shape: Shape, takes: Duration) -> Result<Self> {
        let article = |page| Article { title: title(page), edits: Edits::new(shape, page).collect() };
        let articles = (0..shape.pages).map(article).collect();
        let library = Library { name: "Small wiki".into(), bots: Vec::new(), articles };
        let wiki = Arc::new(Wiki { library, takes, seen: Mutex::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
        let url = format!("http://{}/", listener.local_addr()?);
        let router = Router::new().route("/api.php", get(api)).fallback(get(page)).with_state(wiki.clone());
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::warn!(%error, "the small wiki ended");
            }
        });
        Ok(Self { url, wiki, serving })
    }

    pub(crate) fn seen(&self) -> Seen {
        self.wiki.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SmallWiki {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Wiki {
    /// Notes a request, unless it is of somebody who only looks.
    async fn note(&self, headers: &HeaderMap) {
        let agent = headers.get(http::header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        if !agent.is_some_and(|agent| agent.starts_with("Malla/")) {
            return;
        }
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            if let Some(last) = seen.last {
                seen.gap_min = Some(seen.gap_min.map_or(now - last, |gap| gap.min(now - last)));
            }
            seen.first.get_or_insert(now);
            seen.last = Some(now);
            seen.requests += 1;
            seen.overlapping += u64::from(seen.busy > 0);
            seen.busy += 1;
        }
        // Whoever asked may be gone before the answer.
        let _busy = Busy(&self.seen);
        tokio::time::sleep(self.takes).await;
    }
}

/// A request that is being answered.
struct Busy<'a>(&'a Mutex<Seen>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).busy -= 1;
    }
}

async fn page(State(wiki): State<Arc<Wiki>>, headers: HeaderMap) -> Response {
    wiki.note(&headers).await;
    Html(format!("<html><head>{DISCOVERY}</head></html>")).into_response()
}

async fn api(State(wiki): State<Arc<Wiki>>, headers: HeaderMap, Query(asked): Query<Asked>) -> Response {
    wiki.note(&headers).await;
    ([(http::header::CACHE_CONTROL, "no-store")], Json(wiki.library.answer(&asked))).into_response()
}
