//! Live pages: the server looks at a page's live blocks again about once a second and sends those that changed.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use malla_access::Permission;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::caller::Person;
use crate::frame::Page;
use crate::params::{Params, local_path};
use crate::refusal::Refusal;
use crate::shots::{PACE, Seen, Shot};
use crate::tongue::Lang;
use crate::visitor::{See, Visitor};
use crate::{Console, analyze, audit, cluster, cookie, fetch, lanes, notify, overview, tasks, wiki};

const BEAT: Duration = Duration::from_secs(5);

/// The page at `path` without its frame. A live page adds its line here.
async fn render(console: &Console, person: &Person, path: &str, params: &Params) -> Result<Page, Refusal> {
    match path {
        "/" => overview::page(console, person).await,
        "/tasks" => tasks::list::page(console, person, params).await,
        "/lanes" => lanes::list::page(console, person, params).await,
        "/lane" => lanes::detail::page(console, person, params).await,
        "/audit" => audit::page(console, person, params).await,
        cluster::CLUSTER if person.may(Permission::Administer) => cluster::page(console, person).await,
        _ => {
            if let Some(id) = path.strip_prefix("/tasks/") {
                return tasks::detail::page(console, person, id).await;
            }
            if let Some(page) = notify::live_page(console, person, path, params).await {
                return page;
            }
            if let Some(page) = fetch::live_page(console, person, path, params).await {
                return page;
            }
            if let Some(page) = wiki::live_page(console, person, path, params).await {
                return page;
            }
            let page = analyze::live_page(console, person, path, params).await;
            page.unwrap_or_else(|| Err(Refusal::not_found(t!("A live page at this address"))))
        }
    }
}

pub(crate) async fn stream(
    State(console): State<Console>,
    visitor: Visitor<See>,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, Refusal> {
    let page = params.get("page").and_then(local_path).unwrap_or("/").to_owned();
    let place = console.streams.clone().try_acquire_owned().map_err(|_| {
        let sentence = t!("Too many pages are live at once: this one stays as it is; reload it by hand.");
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, sentence)
    })?;
    let watch = Watch {
        lang: Lang::now(),
        session: cookie::read(&headers, cookie::SESSION).map(str::to_owned),
        server: visitor.server.clone(),
        page,
        sent: HashMap::new(),
        shot: None,
        waiting: VecDeque::new(),
        rest: Duration::ZERO,
        beat_at: Instant::now(),
        over: false,
        _place: place,
        console,
    };
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(PACE.1)).into_response())
}

/// One browser watching one page.
struct Watch {
    console: Console,
    lang: Lang,
    session: Option<String>,
    server: String,
    /// Path and query.
    page: String,
    /// A hash of each block as it was sent last.
    sent: HashMap<&'static str, u64>,
    /// What this one shares with others, since the last look.
    shot: Option<Arc<tokio::sync::Mutex<Shot>>>,
    waiting: VecDeque<Event>,
    rest: Duration,
    beat_at: Instant,
    over: bool,
    _place: OwnedSemaphorePermit,
}

impl Watch {
    /// The next thing to send; `None` when the visitor may no longer see the page.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            tokio::time::sleep(self.rest).await;
            self.lang.speaking(self.look()).await;
            if self.waiting.is_empty() && self.beat_at <= Instant::now() {
                self.waiting.push_back(Event::default().event("beat").data(""));
            }
            if !self.waiting.is_empty() {
                self.beat_at = Instant::now() + BEAT;
            }
        }
    }

    /// Looks at the page as whoever the session belongs to now.
    async fn look(&mut self) {
        let person = Person::find(&self.console, self.session.as_deref(), &self.page, &self.server).await;
        let person = match person {
            Ok(Some(person)) => person,
            Ok(None) => {
                self.over = true;
                return self.say("ended", t!("Your session has ended: sign in again."));
            }
            Err(error) => {
                self.rest = PACE.0;
                return self.trouble(error.into());
            }
        };
        let console = self.console.clone();
        let shot = console.shots.shared(&person, &self.page);
        let page = self.page.clone();
        let (path, query) = page.split_once('?').unwrap_or((&page, ""));
        let params = Params::parse(query.as_bytes());
        let (console, params) = (&console, &params);
        let rendering = |person: Person| async move { render(console, &person, path, params).await };
        let (seen, rest) = console.shots.look(&shot, person, rendering).await;
        self.rest = rest;
        self.shot = Some(shot);
        match seen {
            Seen::Blocks(blocks) => blocks.into_iter().for_each(|(name, html)| self.take(name, &html)),
            Seen::Trouble(sentence) => self.say("trouble", &sentence),
        }
    }

    fn take(&mut self, name: &'static str, html: &str) {
        let mut hasher = DefaultHasher::new();
        html.hash(&mut hasher);
        let hash = hasher.finish();
        if self.sent.insert(name, hash) != Some(hash) {
            let block = serde_json::json!({ "name": name, "html": html });
            self.waiting.push_back(Event::default().event("block").data(block.to_string()));
        }
    }

    fn trouble(&mut self, refusal: Refusal) {
        if let Refusal::Sentence { sentence, .. } = refusal {
            self.say("trouble", &sentence);
        }
    }

    /// As JSON: a sentence may quote what somebody typed, and an event cannot hold every character.
    fn say(&mut self, event: &str, sentence: &str) {
        let data = serde_json::Value::from(sentence).to_string();
        self.waiting.push_back(Event::default().event(event).data(data));
    }
}
