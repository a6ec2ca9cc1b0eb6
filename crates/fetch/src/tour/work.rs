//! Who holds the task of a tour and takes its steps.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::worker::Work;
use malla_queue::{
    Arrivals, Clock, Ending, Error, Failure, LaneSettings, Leased, Outcome, Result, Scope, UnixMs, Verdict,
};
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Step, Tour, TourKind, Tours, tour_of};
use crate::{Answered, Fetch, compare, crawl, watch as watches};

/// A tour is given back after this long, so that others get their turn.
const SLICE: Duration = Duration::from_secs(20);
/// The signal of answers may come from another node, or not at all when the store was away.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Answers that are read at a time: their bodies are in memory together.
const ANSWERS: usize = 32;

#[derive(Debug, Clone)]
pub struct TourOptions {
    /// Pages of everybody that may wait.
    pub pending_max: u64,
    /// For the lanes of sites that are met for the first time.
    pub lanes: LaneSettings,
    /// URLs of a crawl under way at once, over all and on one site.
    pub outstanding_max: u64,
    pub per_site_max: u64,
    /// URLs that a crawl may know.
    pub found_max: u64,
    /// Visits of all watches together.
    pub visits_per_day: u64,
}

impl Default for TourOptions {
    fn default() -> Self {
        Self {
            pending_max: 10_000,
            lanes: LaneSettings { ceiling: 1, gap_ms: crate::GAP_MS },
            outstanding_max: 1_024,
            per_site_max: 256,
            found_max: 2_000_000,
            visits_per_day: 10_000,
        }
    }
}

/// Works on tours.
pub struct Guide {
    pub tours: Arc<dyn Tours>,
    pub fetch: Arc<dyn Fetch>,
    pub clock: Arc<dyn Clock>,
    pub options: TourOptions,
    /// Turns true when the end has begun: tours are given back then.
    pub stop: watch::Receiver<bool>,
}

#[async_trait]
impl Work for Guide {
    async fn work(&self, leased: &Leased) -> Option<Verdict> {
        match self.go(leased).await {
            Ok(verdict) => verdict,
            Err(Error::LeaseLost(_)) => None,
            Err(error) => Some(Verdict::Failed(Failure::new(error.to_string()))),
        }
    }
}

impl Guide {
    async fn go(&self, leased: &Leased) -> Result<Option<Verdict>> {
        let id = tour_of(&leased.payload)?;
        let kind = TourKind::ALL.into_iter().find(|kind| kind.task_kind() == leased.kind);
        let Some(kind) = kind else { return Err(Error::Internal(format!("\"{}\" is no tour", leased.kind))) };
        let tour = match self.tours.tour(&Scope::All, kind, id).await {
            Ok(tour) => tour,
            // It was forgotten.
            Err(Error::NotFound(_)) => return Ok(Some(Verdict::Done(Outcome::default()))),
            Err(error) => return Err(error),
        };
        let turn = Turn { guide: self, leased, until: Instant::now() + SLICE, signal: self.fetch.answered() };
        match kind {
            TourKind::Crawl => crawl::go(turn, tour).await,
            TourKind::Watch => watches::go(turn, tour).await,
            TourKind::Compare => compare::go(turn, tour).await,
        }
    }
}

/// One turn with a tour's task.
pub(crate) struct Turn<'g> {
    pub(crate) guide: &'g Guide,
    pub(crate) leased: &'g Leased,
    until: Instant,
    signal: Arrivals,
}

impl Turn<'_> {
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.until || *self.guide.stop.borrow()
    }

    /// Answers of the tour that are not read yet.
    pub(crate) async fn answers(&mut self, tour: &Tour) -> Result<Vec<Answered>> {
        self.signal.mark_unchanged();
        self.guide.fetch.answers(tour.id.job(), tour.read, ANSWERS).await
    }

    /// What comes from now on ends the next wait.
    pub(crate) fn mark(&mut self) {
        self.signal.mark_unchanged();
    }

    /// Waits until an answer may have come since they were last read, a second at most.
    pub(crate) async fn wait(&mut self) {
        let mut stop = self.guide.stop.clone();
        tokio::select! {
            _ = self.signal.changed() => {}
            _ = stop.wait_for(|stop| *stop) => {}
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }

    /// A step that changes nothing yet.
    pub(crate) fn step(&self, tour: &Tour) -> Step {
        let options = &self.guide.options;
        Step {
            id: tour.id,
            token: self.leased.token,
            read: (tour.read, tour.read),
            answered: Vec::new(),
            progress: tour.progress.clone(),
            weight: tour.weight,
            found: Vec::new(),
            found_max: options.found_max,
            hand: None,
            wanted: Vec::new(),
            pins: Vec::new(),
            pending_max: options.pending_max,
            lanes: options.lanes,
            versions: Vec::new(),
            versions_kept: 0,
            versions_bytes_max: 0,
            events: Vec::new(),
            end: None,
            ending: None,
            ending_if_over: self.done(),
        }
    }

    /// The task is at its end.
    pub(crate) fn done(&self) -> Ending {
        Verdict::Done(Outcome::default()).ending(self.leased, self.guide.clock.now())
    }

    /// The task waits in its lane until then. What went wrong before is forgotten: a tour may go on for years.
    pub(crate) fn later(&self, at: UnixMs) -> Ending {
        let note = "it goes on later".to_owned();
        let ending = Verdict::Released { note }.ending(self.leased, self.guide.clock.now());
        Ending { run_at: Some(at), failures: 0, ..ending }
    }

    /// The others get their turn; this one goes on after a while.
    pub(crate) async fn give_back(&self, tour: &Tour, after: Duration) -> Result<Option<Verdict>> {
        let ending = Some(self.later(self.guide.clock.now().plus(after)));
        self.guide.tours.step(Step { ending, ..self.step(tour) }).await?;
        Ok(None)
    }
}
