//! One run of one site: its pages one after the other, with the site's gap between them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use malla_queue::LeaseToken;
use tokio::time::{Instant, sleep, sleep_until};

use super::hand::Share;
use super::lease::Ticket;
use super::slots::Slot;
use super::{BACK_OFF, Device, Page, Stage};
use crate::{Answer, Got, Item, Line, Run, Site, TroubleKind};

/// After so many times without files, ports or memory for a page, the rest of the run is given back.
const UNABLE_MAX: u32 = 5;

/// A run in work. What is left of it when it is dropped is given back, if its lease still lasts.
pub(super) struct RunWork {
    device: Arc<Device>,
    ticket: Arc<Ticket>,
    site: Site,
    gap: Duration,
    strands: usize,
    state: Mutex<State>,
}

struct State {
    left: VecDeque<Item>,
    under_way: Vec<LeaseToken>,
    /// When the site spoke last, or when we were given it.
    last_word: Instant,
    /// It has been asked, so the gap counts.
    asked: bool,
    /// Its gap has not passed.
    resting: bool,
    share: Share,
}

impl RunWork {
    pub(super) fn new(device: Arc<Device>, ticket: Arc<Ticket>, run: Run) -> Self {
        // That a gap has passed is certain only after an answer, so with a gap one goes after the other.
        let parallel = if run.gap_ms == 0 { run.parallel.max(1) as usize } else { 1 };
        let work = Self {
            device,
            ticket,
            site: run.site,
            gap: Duration::from_millis(run.gap_ms),
            strands: parallel.min(run.items.len()),
            state: Mutex::new(State {
                left: run.items.into(),
                under_way: Vec::with_capacity(1),
                last_word: Instant::now(),
                asked: false,
                resting: false,
                share: Share::default(),
            }),
        };
        work.count(&mut work.lock());
        work
    }

    pub(super) async fn work(self) {
        if self.strands == 1 {
            let line = self.device.lines.take(&self.site);
            let line = self.strand(line).await;
            self.device.lines.keep(&self.site, line);
        } else {
            join_all((0..self.strands).map(|_| self.strand(Line::default()))).await;
        }
    }

    async fn strand(&self, mut line: Line) -> Line {
        let mut unable = 0;
        let mut pause = BACK_OFF.0;
        let mut kept = None;
        while let Some((item, slot)) = self.turn(kept.take()).await {
            let got = self.device.getter.get(&mut line, &item, || self.ticket.lasts()).await;
            kept = self.keeps(slot);
            match got {
                Got::Answer(answer, last_word) => self.done(&item, answer, last_word),
                Got::Stale | Got::TooLate => self.put_back(item),
                Got::Unable(note) => {
                    tracing::debug!(site = %self.site, note, "this machine cannot make a connection");
                    self.device.pace().unable();
                    self.device.lines.clear();
                    self.put_back(item);
                    kept = None;
                    unable += 1;
                    if unable == UNABLE_MAX {
                        break;
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(BACK_OFF.1);
                }
            }
        }
        line
    }

    /// A run without a gap keeps its slot for its next page, so that it ends before others begin and its site is soon free
    /// for them; but not for long, since its site may be slow.
    fn keeps<'s>(&self, slot: Slot<'s>) -> Option<Slot<'s>> {
        (self.gap.is_zero() && slot.is_new() && !self.device.outbox.is_full()).then_some(slot)
    }

    /// The next item and the right to ask for it, or nothing if there is none or the work must end.
    async fn turn<'s>(&'s self, kept: Option<Slot<'s>>) -> Option<(Item, Slot<'s>)> {
        if self.lock().left.is_empty() {
            return None;
        }
        let slot = match kept {
            Some(slot) => slot,
            None => tokio::select! {
                biased;
                slot = self.slot() => slot,
                () = self.device.reaches(Stage::Stopping) => return None,
            },
        };
        if self.device.is_stopping() || !self.ticket.lasts() {
            return None;
        }
        let mut state = self.lock();
        let item = state.left.pop_front()?;
        state.under_way.push(item.token);
        state.asked = true;
        Some((item, slot))
    }

    async fn slot(&self) -> Slot<'_> {
        self.rest().await;
        self.device.outbox.room().await;
        self.device.slots.take().await
    }

    async fn rest(&self) {
        let until = {
            let mut state = self.lock();
            if !state.asked || self.gap.is_zero() {
                return;
            }
            state.resting = true;
            self.count(&mut state);
            state.last_word + self.gap
        };
        while Instant::now() < until {
            sleep_until(until).await;
        }
        let mut state = self.lock();
        state.resting = false;
        self.count(&mut state);
    }

    fn done(&self, item: &Item, answer: Answer, last_word: Instant) {
        let page = Page {
            url: &item.url,
            status: answer.status,
            bytes: answer.body.bytes,
            took: Duration::from_millis(answer.took_ms),
        };
        self.device.observer.page(&page);
        let timed_out = answer.trouble.as_ref().is_some_and(|trouble| trouble.what == TroubleKind::TimedOut);
        self.device.pace().page(&self.site, page.took, timed_out);
        let last = {
            let mut state = self.lock();
            state.landed(item.token, last_word);
            state.left.is_empty() && state.under_way.is_empty()
        };
        // First the result, then the count: who sees that nothing is in hand finds all results in the outbox.
        self.device.outbox.put(item.token, answer, last_word, &self.ticket, last);
        self.count(&mut self.lock());
        if last && self.device.hand.is_empty() {
            self.device.outbox.flush();
        }
    }

    /// It goes again, after the gap.
    fn put_back(&self, item: Item) {
        let mut state = self.lock();
        state.landed(item.token, Instant::now());
        state.left.push_front(item);
    }

    /// Tells the device what is in hand and what of it is due.
    fn count(&self, state: &mut State) {
        let pages = state.left.len() + state.under_way.len();
        let due = match () {
            () if self.gap.is_zero() => pages,
            () if state.resting => 0,
            () => pages.min(1),
        };
        let share = Share { pages, due };
        self.device.hand.change(state.share, share);
        state.share = share;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn landed(&mut self, token: LeaseToken, last_word: Instant) {
        self.under_way.retain(|under_way| *under_way != token);
        self.last_word = self.last_word.max(last_word);
    }
}

impl Drop for RunWork {
    fn drop(&mut self) {
        let mut state = self.lock();
        let left = std::mem::take(&mut state.left);
        let under_way = std::mem::take(&mut state.under_way);
        if self.ticket.lasts() {
            // Who was interrupted may have asked just now.
            let last_word = if under_way.is_empty() { state.last_word } else { Instant::now() };
            let tokens = under_way.into_iter().chain(left.into_iter().map(|item| item.token));
            self.device.outbox.give_back(tokens, last_word, &self.ticket);
        }
        self.count(&mut state);
    }
}
