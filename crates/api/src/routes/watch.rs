//! How live views are made: look once a second at the newest things that match and tell what is new or changed, as
//! server-sent events. It costs the same however many there are; what changes twice within a second is told once.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use malla_access::Permission;
use malla_protocol::Code;
use malla_queue::Scope;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior};

use crate::App;
use crate::auth::{identify, permit};
use crate::problem::Refusal;

const LOOK_EVERY: Duration = Duration::from_secs(1);
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// How many of the newest that match are watched.
const WINDOW: usize = 200;
/// A filter that matches little is answered in bounded steps; so many are taken a second.
const STEPS_MAX: usize = 5;

/// Some of the newest that match, and where to go on.
pub(super) type Look<W> = Result<(Vec<<W as Watched>::Item>, Option<<W as Watched>::Mark>), Refusal>;

/// Things that can be watched: a filter, and how to look through it.
pub(super) trait Watched: Sized + Send + Sync + 'static {
    type Item: Send + Sync;
    /// Ids rise with age: a newer item has a larger one.
    type Id: std::hash::Hash + Ord + Copy + std::fmt::Display + Send + Sync;
    /// Where a page ends.
    type Mark: Send;
    /// What is looked at to see whether an item changed.
    type Seen: PartialEq + Send + Sync;
    type View: Serialize;
    /// The name of the events.
    const EVENT: &'static str;

    fn set_scope(&mut self, scope: Scope);

    /// The newest that match, below the mark.
    fn page(&self, app: &App, below: Option<Self::Mark>, limit: usize) -> impl Future<Output = Look<Self>> + Send;

    fn id(item: &Self::Item) -> Self::Id;

    fn seen(item: &Self::Item) -> Self::Seen;

    fn views(app: &App, items: &[&Self::Item]) -> impl Future<Output = Result<Vec<Self::View>, Refusal>> + Send;
}

/// Opens a live view. What is there already is not told.
pub(super) async fn watch<W: Watched>(
    app: App,
    headers: HeaderMap,
    watched: W,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<W>>, Refusal> {
    let turn = app
        .tail_turn()
        .ok_or_else(|| Refusal::new(Code::Full, "too many live views are open: close one or try again later"))?;
    let mut watch = Watch::new(app, headers, watched, turn);
    watch.look().await?;
    watch.waiting.clear();
    watch.waiting.push_back(Event::default().event("ready").data("{}"));
    let events = unfold(watch, |mut watch| async move { watch.next().await.map(|event| (Ok(event), watch)) });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT_EVERY)))
}

struct Watch<W: Watched> {
    app: App,
    /// Who watches is asked anew each time: a deleted token must not go on seeing.
    headers: HeaderMap,
    watched: W,
    seen: HashMap<W::Id, W::Seen>,
    /// Below this id nothing is known, because the window was full.
    floor: Option<W::Id>,
    waiting: VecDeque<Event>,
    every: Interval,
    _turn: OwnedSemaphorePermit,
}

impl<W: Watched> Watch<W> {
    fn new(app: App, headers: HeaderMap, watched: W, turn: OwnedSemaphorePermit) -> Self {
        let mut every = tokio::time::interval(LOOK_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (seen, waiting) = (HashMap::new(), VecDeque::new());
        Self { app, headers, watched, seen, floor: None, waiting, every, _turn: turn }
    }

    /// The next event; `None` ends the view.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            self.every.tick().await;
            if (self.app.ready)().is_err() || !self.still_allowed().await {
                return None;
            }
            // A store that is away for a moment does not end the view.
            if let Err(refusal) = self.look().await {
                tracing::debug!(?refusal, "a live view could not look");
            }
        }
    }

    async fn still_allowed(&mut self) -> bool {
        match identify(&self.app, &self.headers, &Method::GET).await {
            Ok(principal) => {
                self.watched.set_scope(principal.scope());
                permit(&principal, Permission::See).is_ok()
            }
            Err(refusal) => refusal.is_passing(),
        }
    }

    /// Compares the window with what was seen before and queues an event for each difference, oldest first.
    async fn look(&mut self) -> Result<(), Refusal> {
        let items = self.window().await?;
        let changed: Vec<&W::Item> = items.iter().rev().filter(|item| self.is_news(item)).collect();
        let views = W::views(&self.app, &changed).await?;
        for (item, view) in changed.into_iter().zip(views) {
            let event = Event::default().event(W::EVENT).id(W::id(item).to_string()).json_data(view);
            self.waiting.extend(event.ok());
        }
        self.floor = if items.len() >= WINDOW { items.last().map(W::id) } else { None };
        self.seen = items.iter().map(|item| (W::id(item), W::seen(item))).collect();
        Ok(())
    }

    fn is_news(&self, item: &W::Item) -> bool {
        match self.seen.get(&W::id(item)) {
            Some(before) => *before != W::seen(item),
            // An old one that slid into the window because newer ones left it is not news.
            None => self.floor.is_none_or(|floor| W::id(item) > floor),
        }
    }

    async fn window(&self) -> Result<Vec<W::Item>, Refusal> {
        let mut items = Vec::new();
        let mut below = None;
        for _ in 0..STEPS_MAX {
            let (more, next) = self.watched.page(&self.app, below, WINDOW - items.len()).await?;
            items.extend(more);
            below = next;
            if below.is_none() || items.len() >= WINDOW {
                break;
            }
        }
        Ok(items)
    }
}
