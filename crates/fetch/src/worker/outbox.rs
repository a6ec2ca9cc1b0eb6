//! Results on their way back: gathered for a moment, so that they travel together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use malla_queue::LeaseToken;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::lease::Ticket;
use crate::{Answer, Brought};

/// So much goes off at once while work is scarce,
const FULL: (usize, u64) = (64, 512 << 10);
/// and while it is not: together, pages of one site are taken in for less. It is also the most that goes in one call.
const CALL_MAX: (usize, u64) = (256, 4 << 20);
/// The longest that a result waits for others.
const GATHER: Duration = Duration::from_millis(50);
/// The same for the last result of a run while work is scarce: its site is not given out again before it is there.
const GATHER_AT_END: Duration = Duration::from_millis(5);
/// What a result weighs beside its body and headers.
const RESULT_BYTES: u64 = 256;

/// A result on its way.
pub(super) struct Parcel {
    pub(super) token: LeaseToken,
    answer: Answer,
    last_word: Instant,
    pub(super) ticket: Arc<Ticket>,
    pub(super) bytes: u64,
}

/// Work that is given back.
pub(super) struct Undone {
    token: LeaseToken,
    last_word: Instant,
    pub(super) ticket: Arc<Ticket>,
}

#[derive(Default)]
struct Gathered {
    parcels: Vec<Parcel>,
    undone: Vec<Undone>,
    bytes: u64,
    /// When it goes off.
    due: Option<Instant>,
    closed: bool,
}

/// Where runs put what they bring.
pub(super) struct Outbox {
    gathered: Mutex<Gathered>,
    sooner: Notify,
    /// Bytes that the dispatcher does not have yet.
    waiting: AtomicU64,
    waiting_max: u64,
    delivered: Notify,
    /// The dispatcher had less work than was wished for.
    scarce: AtomicBool,
}

impl Outbox {
    pub(super) fn new(waiting_max: u64) -> Self {
        Self {
            gathered: Mutex::default(),
            sooner: Notify::new(),
            waiting: AtomicU64::new(0),
            waiting_max,
            delivered: Notify::new(),
            scarce: AtomicBool::new(true),
        }
    }

    /// While the dispatcher has as much work as is wished for, nobody waits for the site of a run.
    pub(super) fn work_is_scarce(&self, scarce: bool) {
        self.scarce.store(scarce, Ordering::Relaxed);
    }

    /// Waits until there is room for another result.
    pub(super) async fn room(&self) {
        while self.is_full() {
            let delivered = self.delivered.notified();
            if self.is_full() {
                delivered.await;
            }
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > self.waiting_max
    }

    pub(super) fn put(&self, token: LeaseToken, answer: Answer, last_word: Instant, ticket: &Arc<Ticket>, last: bool) {
        let headers: usize = answer.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let bytes = answer.body.packed.len() as u64 + headers as u64 + RESULT_BYTES;
        self.waiting.fetch_add(bytes, Ordering::AcqRel);
        let mut gathered = self.lock();
        gathered.parcels.push(Parcel { token, answer, last_word, ticket: ticket.clone(), bytes });
        gathered.bytes += bytes;
        let scarce = self.scarce.load(Ordering::Relaxed);
        let wait = match () {
            () if gathered.is_full(if scarce { FULL } else { CALL_MAX }) => Duration::ZERO,
            () if last && scarce => GATHER_AT_END,
            () => GATHER,
        };
        self.send_within(gathered, wait);
    }

    /// What was not asked for goes back.
    pub(super) fn give_back(&self, tokens: impl Iterator<Item = LeaseToken>, last_word: Instant, ticket: &Arc<Ticket>) {
        let mut gathered = self.lock();
        gathered.undone.extend(tokens.map(|token| Undone { token, last_word, ticket: ticket.clone() }));
        if !gathered.undone.is_empty() {
            self.send_within(gathered, GATHER_AT_END);
        }
    }

    /// The device has nothing else to do.
    pub(super) fn flush(&self) {
        let gathered = self.lock();
        if !gathered.is_empty() {
            self.send_within(gathered, Duration::ZERO);
        }
    }

    /// Nothing more will come: what is there goes off, and then the delivery ends.
    pub(super) fn close(&self) {
        let mut gathered = self.lock();
        gathered.closed = true;
        self.send_within(gathered, Duration::ZERO);
    }

    fn send_within(&self, mut gathered: std::sync::MutexGuard<'_, Gathered>, wait: Duration) {
        let due = Instant::now() + wait;
        if gathered.due.is_none_or(|earlier| due < earlier) {
            gathered.due = Some(due);
            drop(gathered);
            self.sooner.notify_one();
        }
    }

    /// The next parcels that are to go off; none if it is closed and empty.
    pub(super) async fn next(&self) -> Option<(Vec<Parcel>, Vec<Undone>)> {
        loop {
            let due = {
                let mut gathered = self.lock();
                match gathered.due {
                    Some(due) if due <= Instant::now() && !gathered.is_empty() => return Some(gathered.take()),
                    _ if gathered.closed && gathered.is_empty() => return None,
                    due => due,
                }
            };
            match due {
                Some(due) => tokio::select! { () = sleep_until(due) => {}, () = self.sooner.notified() => {} },
                None => self.sooner.notified().await,
            }
        }
    }

    /// The dispatcher has these, or will never have them.
    pub(super) fn let_go(&self, parcels: impl Iterator<Item = u64>) {
        self.waiting.fetch_sub(parcels.sum(), Ordering::AcqRel);
        self.delivered.notify_waiters();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathered {
    fn is_empty(&self) -> bool {
        self.parcels.is_empty() && self.undone.is_empty()
    }

    fn is_full(&self, full: (usize, u64)) -> bool {
        self.parcels.len() >= full.0 || self.bytes >= full.1
    }

    fn take(&mut self) -> (Vec<Parcel>, Vec<Undone>) {
        let (mut count, mut bytes) = (0, 0);
        while count < self.parcels.len().min(CALL_MAX.0) && bytes < CALL_MAX.1 {
            bytes += self.parcels[count].bytes;
            count += 1;
        }
        let rest = self.parcels.split_off(count);
        self.bytes -= bytes;
        let parcels = std::mem::replace(&mut self.parcels, rest);
        // What is left was to go off as well.
        self.due = (!self.parcels.is_empty()).then(Instant::now);
        (parcels, std::mem::take(&mut self.undone))
    }
}

impl Parcel {
    pub(super) fn brought(&self, now: Instant) -> Brought {
        Brought { token: self.token, answer: self.answer.clone(), quiet_ms: quiet_ms(self.last_word, now) }
    }
}

impl Undone {
    /// Its token, and how long its site has been quiet.
    pub(super) fn quiet(&self, now: Instant) -> (LeaseToken, u64) {
        (self.token, quiet_ms(self.last_word, now))
    }
}

/// Rounded down: a site is never said to have been silent for longer than it was.
fn quiet_ms(last_word: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(last_word).as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use malla_queue::TaskId;

    use super::*;
    use crate::PackedBody;
    use crate::worker::lease::{Lease, Uptime};

    fn ticket() -> Arc<Ticket> {
        Arc::new(Ticket::new(Lease::new(Uptime::now(), Duration::from_secs(60))))
    }

    fn put(outbox: &Outbox, task: i64, bytes: usize, last: bool) {
        let body = PackedBody { packed: vec![0; bytes].into(), bytes: bytes as u64, hash: None };
        let answer = Answer { status: 200, headers: Vec::new(), body, trouble: None, took_ms: 1 };
        outbox.put(LeaseToken { task: TaskId(task), nonce: 1 }, answer, Instant::now(), &ticket(), last);
    }

    /// How long the outbox still waits.
    fn waits(outbox: &Outbox) -> Duration {
        outbox.lock().due.expect("something waits").saturating_duration_since(Instant::now())
    }

    #[tokio::test]
    async fn results_wait_for_others_but_not_for_long() {
        let outbox = Outbox::new(1 << 20);
        assert!(outbox.next().now_or_never().is_none());
        put(&outbox, 1, 10, false);
        assert!(waits(&outbox) > GATHER_AT_END && waits(&outbox) <= GATHER);
        outbox.work_is_scarce(false);
        put(&outbox, 2, 10, true);
        assert!(waits(&outbox) > GATHER_AT_END, "there are other sites");
        outbox.work_is_scarce(true);
        put(&outbox, 2, 10, true);
        assert!(waits(&outbox) <= GATHER_AT_END, "the site waits for the last one of its run");
        put(&outbox, 3, 10, false);
        assert!(waits(&outbox) <= GATHER_AT_END);
        let (parcels, undone) = outbox.next().await.expect("it is not closed");
        assert_eq!((parcels.len(), undone.len()), (4, 0));
        assert!(outbox.lock().due.is_none());
    }

    #[tokio::test]
    async fn what_is_enough_goes_at_once() {
        let outbox = Outbox::new(1 << 30);
        (0..64).for_each(|task| put(&outbox, task, 10, false));
        assert_eq!(outbox.next().now_or_never().flatten().expect("enough").0.len(), 64);
        put(&outbox, 1, 512 << 10, false);
        assert_eq!(outbox.next().now_or_never().flatten().expect("enough").0.len(), 1);
        outbox.work_is_scarce(false);
        (0..255).for_each(|task| put(&outbox, task, 10, false));
        assert!(outbox.next().now_or_never().is_none(), "nobody waits for them");
        put(&outbox, 255, 10, false);
        assert_eq!(outbox.next().now_or_never().flatten().expect("enough").0.len(), 256);
        put(&outbox, 1, 10, false);
        outbox.flush();
        assert_eq!(outbox.next().now_or_never().flatten().expect("all there is").0.len(), 1);
    }

    #[tokio::test]
    async fn one_call_has_its_limits() {
        let outbox = Outbox::new(1 << 30);
        (0..300).for_each(|task| put(&outbox, task, 10, false));
        (0..8).for_each(|task| put(&outbox, task, 1 << 20, false));
        outbox.close();
        let mut calls = Vec::new();
        while let Some((parcels, _)) = outbox.next().await {
            calls.push(parcels.len());
        }
        assert_eq!(calls, [256, 48, 4]);
    }

    #[tokio::test]
    async fn there_is_room_until_the_limit() {
        let outbox = Outbox::new(1_000);
        put(&outbox, 1, 900, false);
        assert!(outbox.room().now_or_never().is_none());
        outbox.let_go([900 + RESULT_BYTES].into_iter());
        outbox.room().await;
    }
}
