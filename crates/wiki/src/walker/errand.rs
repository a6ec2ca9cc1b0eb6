//! One task under way: what it may ask (once), and what that led to.

use std::sync::Arc;

use malla_queue::{Error, Kind, LaneKey, Leased, NewTask, Priority, Scope, UnixMs, crash};
use url::Url;

use super::stage::{Payload, Stage};
use super::{Walker, retry_delays};
use crate::extraction::{EXTRACT, VISIT};
use crate::mediawiki::{Answer, Api, Broken, Response, Trouble, judge};
use crate::page::{Mark, PageFacts, PageId};
use crate::shelving::Fetched;
use crate::site::{Wiki, WikiId, lane_of, lane_settings};
use crate::verbs::Visited;

pub(super) struct Errand<'w> {
    pub(super) walker: &'w Walker,
    pub(super) task: &'w Leased,
    /// `None` of a probe.
    pub(super) payload: Option<Payload>,
    /// When the request left, once it has, and when its answer began.
    pub(super) sent_at: Option<UnixMs>,
    pub(super) answered_at: Option<UnixMs>,
}

/// What a request led to.
pub(super) struct Turn {
    pub(super) next: Next,
    pub(super) shelves: Vec<Shelf>,
    pub(super) follow_ups: Vec<NewTask>,
    pub(super) visited: Option<Visited>,
    pub(super) told: Told,
}

pub(super) enum Next {
    /// The next step, in this lane.
    Go(LaneKey, Box<Stage>),
    Done,
    /// It cannot be had, for this reason.
    Fail(String),
}

impl Next {
    pub(super) fn go(lane: LaneKey, stage: Stage) -> Self {
        Self::Go(lane, Box::new(stage))
    }
}

/// What is known of the extraction from now on; `None` leaves what is known.
#[derive(Default)]
pub(super) struct Told {
    pub(super) wiki: Option<WikiId>,
    pub(super) pageid: Option<PageId>,
    pub(super) title: Option<String>,
    pub(super) note: Option<String>,
}

/// What becomes of a page.
pub(super) struct Shelf {
    pub(super) wiki: Arc<Wiki>,
    pub(super) pageid: PageId,
    pub(super) facts: PageFacts,
    pub(super) fetched: Arc<Vec<Fetched>>,
    /// Everything up to here is kept.
    pub(super) mark: Option<Mark>,
    pub(super) complete: bool,
    pub(super) reconciled: bool,
    pub(super) visited: bool,
}

/// Why there is no turn.
pub(super) enum Stop {
    Trouble(Trouble),
    /// The answer is larger than allowed here.
    TooLarge,
    /// The request belongs into another lane.
    Elsewhere(LaneKey),
    /// So much time has passed that somebody else may have the lane by now.
    TooLate,
    Store(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl Turn {
    pub(super) fn new(next: Next, told: Told) -> Self {
        Self { next, shelves: Vec::new(), follow_ups: Vec::new(), visited: None, told }
    }

    pub(super) fn with(self, shelf: Shelf) -> Self {
        Self { shelves: vec![shelf], ..self }
    }
}

impl<'w> Errand<'w> {
    pub(super) fn new(walker: &'w Walker, task: &'w Leased, payload: Option<Payload>) -> Self {
        Self { walker, task, payload, sent_at: None, answered_at: None }
    }

    /// Takes the step that the payload says. Steps that need no request are taken at once.
    pub(super) async fn run(&mut self) -> Result<Turn, Stop> {
        let Some(payload) = self.payload.as_mut() else { return Err(no_payload()) };
        if let Stage::Start(aim) = &payload.stage {
            let (aim, group) = (aim.clone(), self.task.group);
            payload.stage = self.walker.start(aim, group).await?;
        }
        match payload.stage.clone() {
            Stage::Start(_) => Err(no_payload()),
            Stage::Find { aim, at, hops } => self.find(aim, at, hops).await,
            Stage::About { aim, places, shows, script, hops } => self.about(aim, places, shows, script, hops).await,
            Stage::Resolve { wiki, subject } => self.resolve(wiki, subject).await,
            Stage::Count { wiki, pageid, title } => self.count(wiki, pageid, title).await,
            Stage::Walk(walk) => self.walk(walk).await,
            Stage::List { wiki, pageid, cursor, restarts } => self.list(wiki, pageid, cursor, restarts).await,
            Stage::Fetch(fetch) => self.fetch(fetch).await,
            Stage::ScrapeList { wiki, subject, offset } => self.scrape_list(wiki, subject, offset).await,
            Stage::ScrapeText(scraped) => self.scrape_text(scraped).await,
        }
    }

    /// The one request of this task, if its host is the lane's.
    pub(super) async fn ask(&mut self, url: &Url) -> Result<Response, Stop> {
        if !self.walker.has_contact {
            let note = "wikis must be told who asks: set wiki.contact (MALLA_WIKI_CONTACT)";
            return Err(Trouble::Again(note.into()).into());
        }
        let lane = lane_of(url)?;
        if lane != self.task.lane {
            return Err(Stop::Elsewhere(lane));
        }
        // The store stood still for as long as the lease, or this process did.
        if self.walker.clock.now() >= self.task.expires_at {
            return Err(Stop::TooLate);
        }
        let exchange = self.walker.http.get(url).await;
        if !matches!(exchange.came, Err(Broken::Refused(_))) {
            (self.sent_at, self.answered_at) = (Some(exchange.sent_at), exchange.answered_at);
        }
        crash::point("wiki.ask");
        exchange.came.map_err(|broken| match broken {
            Broken::Refused(note) => Stop::Trouble(Trouble::NotHere(note)),
            Broken::Trouble(note) => Stop::Trouble(Trouble::Again(note)),
            Broken::TooLarge => Stop::TooLarge,
        })
    }

    /// The one request of this task, to an API.
    pub(super) async fn ask_api(&mut self, url: &Url) -> Result<Answer, Stop> {
        let response = self.ask(url).await?;
        Ok(judge(&response, self.walker.clock.now())?)
    }

    pub(super) fn api<'a>(&self, api: &'a Url) -> Api<'a> {
        Api { api, maxlag: self.walker.maxlag }
    }

    pub(super) async fn wiki(&self, id: WikiId) -> Result<Arc<Wiki>, Stop> {
        Ok(Arc::new(self.walker.wikis.wiki(&Scope::All, id).await?))
    }

    /// The task of a next step.
    pub(super) fn follow_up(&self, lane: LaneKey, payload: &Payload) -> Result<NewTask, Error> {
        let (kind, priority) = match payload.extraction {
            Some(_) => (EXTRACT, Priority::Normal),
            None => (VISIT, Priority::Low),
        };
        Ok(NewTask {
            lane_settings: lane_settings(self.walker.gap_ms),
            group: self.task.group,
            priority,
            retry: retry_delays(),
            ..NewTask::new(lane, Kind::new(kind), payload.to_bytes()?)
        })
    }

    /// Whether nobody asked for it.
    pub(super) fn is_visit(&self) -> bool {
        self.payload.as_ref().is_none_or(|payload| payload.extraction.is_none())
    }
}

fn no_payload() -> Stop {
    Stop::Store(Error::Internal("a step of a history has no place to go on from".into()))
}

/// A step in the lane of a wiki.
pub(super) fn go(wiki: &Wiki, stage: Stage) -> Result<Next, Stop> {
    Ok(Next::go(lane_of(&wiki.api)?, stage))
}
