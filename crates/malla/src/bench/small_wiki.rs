//! A wiki on loopback that speaks enough of MediaWiki's action API for a history to be read. It notes when it was asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::get;
use axum::{Router, http};
use clap::Args;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::histories::{Edit, Edits, Shape, title};

/// Revisions in one answer: with texts, and without.
const LIMITS: (usize, usize) = (50, 500);

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
    pages: Vec<Vec<Edit>>,
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
        let pages = (0..shape.pages).map(|page| Edits::new(shape, page).collect()).collect();
        let wiki = Arc::new(Wiki { pages, takes, seen: Mutex::default() });
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
        tokio::time::sleep(self.takes).await;
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).busy -= 1;
    }

    /// The place of the page that is asked for.
    fn asked(&self, asked: &HashMap<String, String>) -> Option<usize> {
        let by_id = asked.get("pageids").and_then(|id| id.parse::<usize>().ok()?.checked_sub(1));
        let titled = asked.get("titles").map(|title| title.replace('_', " "));
        let by_title = titled.and_then(|asked| (0..self.pages.len()).find(|page| title(*page as u64) == asked));
        by_id.or(by_title).filter(|page| *page < self.pages.len())
    }
}

async fn page(State(wiki): State<Arc<Wiki>>, headers: HeaderMap) -> Response {
    wiki.note(&headers).await;
    Html(r#"<html><head><link rel="EditURI" type="application/rsd+xml" href="/api.php?action=rsd"></head></html>"#)
        .into_response()
}

async fn api(
    State(wiki): State<Arc<Wiki>>,
    headers: HeaderMap,
    Query(asked): Query<HashMap<String, String>>,
) -> Response {
    wiki.note(&headers).await;
    let mut query = serde_json::Map::new();
    if asked.get("meta").is_some_and(|meta| meta.contains("siteinfo")) {
        query.insert("general".into(), about());
        query.insert("namespaces".into(), json!({ "0": { "id": 0, "name": "" } }));
        query.insert("allusers".into(), json!([]));
    }
    let mut answer = json!({ "batchcomplete": true });
    let names_page = ["titles", "pageids"].iter().any(|name| asked.contains_key(*name));
    match wiki.asked(&asked) {
        Some(page) => {
            let (known, more) = described(&wiki.pages[page], page, &asked);
            query.insert("pages".into(), json!([known]));
            if let Some(more) = more {
                answer = json!({ "continue": { "rvcontinue": more, "continue": "||" } });
            }
        }
        None if names_page => {
            query.insert("pages".into(), json!([{ "ns": 0, "title": asked.get("titles"), "missing": true }]));
        }
        None => {}
    }
    answer["query"] = Value::Object(query);
    ([(http::header::CACHE_CONTROL, "no-store")], Json(answer)).into_response()
}

fn about() -> Value {
    json!({
        "sitename": "Small wiki", "generator": "MediaWiki 1.39.0", "lang": "en", "wikiid": "small", "case": "first-letter",
        "articlepath": "/wiki/$1", "scriptpath": "", "script": "/index.php", "server": "", "base": "/wiki/Page_0",
    })
}

/// A page, and where its list goes on.
fn described(edits: &[Edit], page: usize, asked: &HashMap<String, String>) -> (Value, Option<String>) {
    let last = edits.last().map_or(0, |edit| edit.revid);
    let mut known = json!({ "pageid": page + 1, "ns": 0, "title": title(page as u64), "lastrevid": last });
    if !asked.get("prop").is_some_and(|prop| prop.contains("revisions")) {
        return (known, None);
    }
    let texts = asked.get("rvprop").is_some_and(|prop| prop.contains("content"));
    let most = if texts { LIMITS.0 } else { LIMITS.1 };
    let limit = asked.get("rvlimit").and_then(|limit| limit.parse().ok()).unwrap_or(most).min(most);
    let mut listed: Vec<&Edit> = edits.iter().collect();
    let newer = asked.get("rvdir").is_some_and(|way| way == "newer");
    if !newer {
        listed.reverse();
    }
    let from = begin(&listed, newer, asked);
    let shown: Vec<Value> = listed[from..].iter().take(limit).map(|edit| revision(edit, texts)).collect();
    known["revisions"] = Value::Array(shown);
    let more = listed.get(from + limit).map(|edit| format!("{}|{}", stamp(edit), edit.revid));
    (known, more)
}

/// Where the list begins that is asked for.
fn begin(listed: &[&Edit], newer: bool, asked: &HashMap<String, String>) -> usize {
    let at = match (asked.get("rvcontinue"), asked.get("rvstart")) {
        (Some(cursor), _) => {
            let revid = cursor.split_once('|').and_then(|(_, revid)| revid.parse::<u64>().ok());
            listed.iter().position(|edit| Some(edit.revid) == revid)
        }
        (None, Some(start)) => {
            let digits: String = start.chars().filter(char::is_ascii_digit).collect();
            listed.iter().position(|edit| if newer { stamp(edit) >= digits } else { stamp(edit) <= digits })
        }
        (None, None) => Some(0),
    };
    at.unwrap_or(listed.len())
}

/// `20180309120000`
fn stamp(edit: &Edit) -> String {
    edit.timestamp().chars().filter(char::is_ascii_digit).collect()
}

fn revision(edit: &Edit, text: bool) -> Value {
    let mut shown = json!({
        "revid": edit.revid, "parentid": edit.parentid, "minor": edit.minor, "user": edit.user, "userid": edit.userid,
        "timestamp": edit.timestamp(), "size": edit.text.len(), "comment": edit.comment, "parsedcomment": edit.comment,
        "tags": [], "contentmodel": "wikitext", "contentformat": "text/x-wiki",
    });
    if edit.userid == 0 {
        shown["anon"] = json!(true);
    }
    if text {
        let slot = json!({ "contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": edit.text });
        shown["slots"] = json!({ "main": slot });
    }
    shown
}
