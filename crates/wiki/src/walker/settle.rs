//! Ends a task: what came is made ready, and committed together with the next step, the rest of the lane and the events.

use std::time::Duration;

use malla_queue::{Ending, Error, Event, Failure, NextTry, Outcome, Result, State, UnixMs, Verdict};
use serde_json::json;

use super::errand::{Errand, Next, Shelf, Stop, Told, Turn};
use super::stage::Payload;
use super::walk::later;
use crate::extraction::{Counts, ExtractionState};
use crate::mediawiki::Trouble;
use crate::shelving::{Fresh, Shelved, shelve};
use crate::verbs::{Committed, PageChange, Settled, Step};

/// A wiki has seen a request when its answer begins, or this long after it left, whatever comes first. So a network or a
/// machine that delays one request more than the next cannot bring them closer together, and a wiki that answers slowly
/// is not asked much less.
const SEEN_WITHIN: Duration = Duration::from_millis(250);
/// On top of the gap, for what clocks are out by.
const MARGIN: Duration = Duration::from_millis(2);
/// What looks final is tried again so often before it is: a proxy, or a wiki under maintenance, may say so, too.
const DOUBTS: u32 = 5;
/// Between two attempts to commit while the store is away.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// A page that others keep changing meanwhile is prepared anew so often.
const STALE_MAX: u32 = 100;

/// A turn made ready.
#[derive(Default)]
struct Ready {
    changes: Vec<PageChange>,
    events: Vec<Event>,
    new: u64,
    erased: u64,
}

impl Errand<'_> {
    /// Commits; `None` if that was done, or if somebody else has the task now.
    pub(super) async fn settle(mut self, turn: Result<Turn, Stop>) -> Option<Verdict> {
        let turn = match turn {
            Ok(turn) => turn,
            Err(Stop::Elsewhere(lane)) => match self.payload.clone() {
                Some(payload) => Turn::new(Next::go(lane, payload.stage), Told::default()),
                None => return Some(self.failed("the pages are another host's".into(), NextTry::Never, None)),
            },
            Err(Stop::TooLate) => return Some(Verdict::Released { note: "too late to ask".into() }),
            Err(stop) => return self.give_up(stop).await,
        };
        let mut back_off = BACK_OFF.0;
        let mut stale = 0;
        loop {
            let settled = match self.settled(&turn).await {
                Ok(settled) => settled,
                Err(Error::Unavailable(_)) if self.may_wait() => {
                    tokio::time::sleep(back_off).await;
                    back_off = (back_off * 2).min(BACK_OFF.1);
                    continue;
                }
                Err(error) => return self.give_up(Stop::Store(error)).await,
            };
            match self.commit(settled).await {
                Ok(Committed::Done) | Err(Error::LeaseLost(_)) => return None,
                Ok(Committed::Stale) if stale < STALE_MAX => stale += 1,
                Ok(Committed::Stale) => {
                    let error = Error::Conflict("the page kept changing meanwhile".into());
                    return self.give_up(Stop::Store(error)).await;
                }
                Err(error) => return self.give_up(Stop::Store(error)).await,
            }
        }
    }

    /// What a turn means, from the pages as they are kept now.
    async fn settled(&self, turn: &Turn) -> Result<Settled> {
        let mut ready = Ready::default();
        for shelf in &turn.shelves {
            self.make_ready(shelf, &mut ready).await?;
        }
        let counts = self.counts(&ready);
        let mut follow_ups = turn.follow_ups.clone();
        if let (Next::Go(lane, stage), Some(payload)) = (&turn.next, &self.payload) {
            let payload = Payload { stage: stage.as_ref().clone(), counts, ..payload.clone() };
            follow_ups.push(self.follow_up(lane.clone(), &payload)?);
        }
        let now = self.walker.clock.now();
        let lane_rest = self.rest(now);
        let verdict = match &turn.next {
            Next::Fail(why) if !self.is_visit() => {
                Verdict::Failed(Failure { next: NextTry::Never, lane_rest, ..Failure::new(why.clone()) })
            }
            _ => Verdict::Done(Outcome { events: ready.events, follow_ups, lane_rest, ..Outcome::default() }),
        };
        let state = match &turn.next {
            Next::Go(..) => ExtractionState::InProgress,
            Next::Done => ExtractionState::Succeeded,
            Next::Fail(_) => ExtractionState::Failed,
        };
        let note = match &turn.next {
            Next::Fail(why) => Some(why.clone()),
            _ => turn.told.note.clone(),
        };
        Ok(Settled {
            token: self.task.token,
            ending: verdict.ending(self.task, now),
            step: self.step(state, counts, &turn.told, note),
            changes: ready.changes,
            visited: turn.visited.clone(),
        })
    }

    async fn make_ready(&self, shelf: &Shelf, ready: &mut Ready) -> Result<()> {
        let Shelf { wiki, pageid, facts, fetched, .. } = shelf;
        let wikis = self.walker.wikis.as_ref();
        let Shelved { mut change, fresh, page } =
            shelve(wikis, wiki.id, *pageid, facts.clone(), fetched.clone()).await?;
        let before = page.as_ref().and_then(|page| page.mark);
        change.mark = shelf.mark.and_then(|mark| later(before, Some(mark)));
        (change.complete, change.reconciled, change.visited) = (shelf.complete, shelf.reconciled, shelf.visited);
        if page.is_none() && change.facts.deleted {
            // Nothing was kept of it: there is nothing to say.
            return Ok(());
        }
        if page.is_some_and(|page| page.complete_at.is_some()) {
            ready.events.extend(events(shelf, &change, &fresh));
        }
        ready.new += fresh.revisions.len() as u64;
        ready.erased += fresh.erased;
        ready.changes.push(change);
        Ok(())
    }

    fn counts(&self, ready: &Ready) -> Counts {
        let counts = self.payload.as_ref().map_or_else(Counts::default, |payload| payload.counts);
        Counts {
            requests: counts.requests + self.requests(),
            new: counts.new + ready.new,
            erased: counts.erased + ready.erased,
            ..counts
        }
    }

    /// Requests of this task, with those of its failed attempts.
    fn requests(&self) -> u64 {
        u64::from(self.sent_at.is_some()) + u64::from(self.task.failures)
    }

    fn step(&self, state: ExtractionState, counts: Counts, told: &Told, note: Option<String>) -> Option<Step> {
        Some(Step {
            extraction: self.payload.as_ref()?.extraction?,
            state,
            wiki: told.wiki,
            pageid: told.pageid,
            title: told.title.clone(),
            counts,
            note,
        })
    }

    /// How long the lane rests so that the gap lies between two requests as the wiki sees them.
    fn rest(&self, now: UnixMs) -> Option<Duration> {
        let gap = Duration::from_millis(self.walker.gap_ms);
        let sent_at = self.sent_at?;
        let seen_at = sent_at.plus(SEEN_WITHIN);
        let seen_at = self.answered_at.map_or(seen_at, |answered_at| answered_at.min(seen_at));
        let next = seen_at.plus(gap).plus(MARGIN);
        Some(now.until(next)).filter(|rest| !rest.is_zero())
    }

    fn failed(&self, note: String, next: NextTry, rest: Option<Duration>) -> Verdict {
        let gap = self.rest(self.walker.clock.now());
        Verdict::Failed(Failure { next, lane_rest: rest.max(gap), ..Failure::new(note) })
    }

    /// The step was not taken: it is tried again, or the extraction has failed.
    async fn give_up(&mut self, stop: Stop) -> Option<Verdict> {
        let doubtful = if self.task.failures < DOUBTS { NextTry::ByDelays } else { NextTry::Never };
        let (note, next, rest) = match stop {
            Stop::Trouble(Trouble::Wait(wait, note)) => {
                let patience = self.task.retry.after(self.task.failures.saturating_add(1)).unwrap_or_default();
                (note, NextTry::After(wait.max(patience)), Some(wait))
            }
            Stop::Trouble(Trouble::Again(note)) => (note, NextTry::ByDelays, None),
            Stop::Trouble(Trouble::NotHere(note)) => (note, doubtful, None),
            Stop::Trouble(Trouble::Moved(to)) => (format!("the wiki's API has moved to {to}"), doubtful, None),
            Stop::Trouble(Trouble::BadContinue) => ("the wiki forgot where it was".into(), doubtful, None),
            Stop::Trouble(Trouble::Never(note)) => (note, NextTry::Never, None),
            Stop::TooLarge => ("the answer is larger than wiki.answer_mb_max allows".into(), NextTry::Never, None),
            Stop::Elsewhere(_) => ("the request belongs into another lane".into(), NextTry::Never, None),
            Stop::TooLate => ("it was too late to ask".into(), NextTry::ByDelays, None),
            Stop::Store(Error::Invalid(note)) => (note, NextTry::Never, None),
            Stop::Store(error) => (error.to_string(), NextTry::ByDelays, None),
        };
        let verdict = self.failed(note.clone(), next, rest);
        let ending: Ending = verdict.clone().ending(self.task, self.walker.clock.now());
        let state = match ending.state {
            State::Failed => ExtractionState::Failed,
            _ => ExtractionState::InProgress,
        };
        let counts = self.counts(&Ready::default());
        let note = if state == ExtractionState::Failed { note } else { format!("{note}: it is tried again") };
        let Some(step) = self.step(state, counts, &Told::default(), Some(note)) else { return Some(verdict) };
        let settled = Settled { token: self.task.token, ending, step: Some(step), changes: Vec::new(), visited: None };
        match self.commit(settled).await {
            Ok(_) | Err(Error::LeaseLost(_)) => None,
            Err(error) => {
                tracing::warn!(task = %self.task.token.task, %error, "a failure could not be written down");
                Some(verdict)
            }
        }
    }

    /// Commits; asks again while it is not known whether that was done.
    async fn commit(&self, settled: Settled) -> Result<Committed> {
        let mut back_off = BACK_OFF.0;
        loop {
            match self.walker.wikis.commit(settled.clone()).await {
                Err(Error::Unavailable(why)) if self.may_wait() => {
                    tracing::warn!(task = %self.task.token.task, why, "cannot commit, trying again in {back_off:?}");
                    tokio::time::sleep(back_off).await;
                    back_off = (back_off * 2).min(BACK_OFF.1);
                }
                done => return done,
            }
        }
    }

    /// A while longer than the lease: if it is lost by then, nobody needs this any more.
    fn may_wait(&self) -> bool {
        self.walker.clock.now() < self.task.expires_at.plus(BACK_OFF.1)
    }
}

/// What is told of revisions that came after the page was complete once.
fn events(shelf: &Shelf, change: &PageChange, fresh: &Fresh) -> Vec<Event> {
    let wiki = &shelf.wiki;
    let told = fresh.revisions.iter().filter_map(|(revid, grown)| {
        let revision = change.revisions.iter().find(|revision| revision.revid == *revid)?;
        let at = jiff::Timestamp::from_millisecond(revision.at.0).map_or(String::new(), |at| at.to_string());
        let body = json!({
            "wiki": wiki.id, "api": wiki.api.as_str(), "locale": wiki.locale, "pageid": revision.pageid,
            "title": shelf.facts.title, "revid": revision.revid, "parentid": revision.parentid, "user": revision.user,
            "timestamp": at, "size": revision.size, "change": grown, "minor": revision.minor, "anon": revision.anon,
            "comment": revision.comment, "tags": revision.tags,
        });
        Some(Event { kind: "wiki.revision".into(), group: wiki.group, body: body.to_string().into_bytes() })
    });
    told.collect()
}
