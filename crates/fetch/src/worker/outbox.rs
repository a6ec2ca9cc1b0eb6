//! Results on their way back: gathered for a moment, sent while fetching goes on, kept until the dispatcher has them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use malla_queue::LeaseToken;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::lease::Ticket;
use super::{BACK_OFF, Observer, later};
use crate::{Answer, Brought, Dispatch, DispatchError};

/// So much goes off at once.
const FULL: (usize, u64) = (64, 512 << 10);
/// At most so much in one call, if more has gathered.
const CALL_MAX: (usize, u64) = (256, 4 << 20);
/// The longest that a result waits for others.
const GATHER: Duration = Duration::from_millis(50);
/// The same for the last result of a run: its site is not given out again before it is there.
const GATHER_AT_END: Duration = Duration::from_millis(5);
/// Calls under way at once.
const CALLS_MAX: usize = 4;
/// A call that takes longer is lost.
const CALL_TIME_MAX: Duration = Duration::from_secs(30);
/// What a result weighs beside its body and headers.
const RESULT_BYTES: u64 = 256;

/// A result on its way.
struct Parcel {
    token: LeaseToken,
    answer: Answer,
    last_word: Instant,
    ticket: Arc<Ticket>,
    bytes: u64,
}

/// Work that is given back.
struct Undone {
    token: LeaseToken,
    last_word: Instant,
    ticket: Arc<Ticket>,
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
}

impl Outbox {
    pub(super) fn new(waiting_max: u64) -> Self {
        Self {
            gathered: Mutex::default(),
            sooner: Notify::new(),
            waiting: AtomicU64::new(0),
            waiting_max,
            delivered: Notify::new(),
        }
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

    fn is_full(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > self.waiting_max
    }

    pub(super) fn put(&self, token: LeaseToken, answer: Answer, last_word: Instant, ticket: &Arc<Ticket>, last: bool) {
        let headers: usize = answer.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let bytes = answer.body.packed.len() as u64 + headers as u64 + RESULT_BYTES;
        self.waiting.fetch_add(bytes, Ordering::AcqRel);
        let mut gathered = self.lock();
        gathered.parcels.push(Parcel { token, answer, last_word, ticket: ticket.clone(), bytes });
        gathered.bytes += bytes;
        let wait = match () {
            () if gathered.is_full() => Duration::ZERO,
            () if last => GATHER_AT_END,
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

    /// Nothing more will come: what is there goes off, and then [`deliver`] ends.
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
    async fn next(&self) -> Option<(Vec<Parcel>, Vec<Undone>)> {
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

    fn let_go(&self, parcels: impl Iterator<Item = u64>) {
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

    fn is_full(&self) -> bool {
        self.parcels.len() >= FULL.0 || self.bytes >= FULL.1
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

/// Sends what gathers until the outbox is closed and empty, or the dispatcher wants no more of this device.
pub(super) async fn deliver(
    outbox: Arc<Outbox>,
    dispatch: Arc<dyn Dispatch>,
    observer: Arc<dyn Observer>,
) -> Result<(), DispatchError> {
    let mut calls = JoinSet::new();
    let mut open = true;
    while open || !calls.is_empty() {
        tokio::select! {
            next = outbox.next(), if open && calls.len() < CALLS_MAX => match next {
                Some((parcels, undone)) => {
                    let call = Call { outbox: outbox.clone(), dispatch: dispatch.clone(), observer: observer.clone() };
                    calls.spawn(call.send(parcels, undone));
                }
                None => open = false,
            },
            Some(called) = calls.join_next() => if let Ok(result) = called { result? },
        }
    }
    Ok(())
}

struct Call {
    outbox: Arc<Outbox>,
    dispatch: Arc<dyn Dispatch>,
    observer: Arc<dyn Observer>,
}

impl Call {
    async fn send(self, parcels: Vec<Parcel>, undone: Vec<Undone>) -> Result<(), DispatchError> {
        self.send_results(parcels).await?;
        self.send_undone(undone).await
    }

    async fn send_results(&self, mut parcels: Vec<Parcel>) -> Result<(), DispatchError> {
        let (mut back_off, mut first) = (BACK_OFF.0, true);
        loop {
            let outdated = parcels.extract_if(.., |parcel| parcel.ticket.lease.is_gone());
            self.outbox.let_go(outdated.map(|parcel| parcel.bytes));
            if parcels.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            let brought = parcels.iter().map(|parcel| parcel.brought(now)).collect();
            match within(self.dispatch.results(brought)).await {
                Ok(lost) => {
                    // Sent a second time, what the first one brought may be called lost without being so.
                    if first {
                        lose(&parcels, &lost);
                    }
                    self.outbox.let_go(parcels.iter().map(|parcel| parcel.bytes));
                    return Ok(());
                }
                Err(error) => self.wait(error, &mut back_off).await?,
            }
            first = false;
        }
    }

    async fn send_undone(&self, mut undone: Vec<Undone>) -> Result<(), DispatchError> {
        let mut back_off = BACK_OFF.0;
        loop {
            undone.retain(|undone| !undone.ticket.lease.is_gone());
            if undone.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            let items = undone.iter().map(|undone| (undone.token, quiet_ms(undone.last_word, now))).collect();
            match within(self.dispatch.give_back(items)).await {
                Ok(()) => return Ok(()),
                Err(error) => self.wait(error, &mut back_off).await?,
            }
        }
    }

    /// Waits before the next try, if there is to be one.
    async fn wait(&self, error: DispatchError, back_off: &mut Duration) -> Result<(), DispatchError> {
        match error {
            DispatchError::Later { after_ms } => sleep(later(after_ms)).await,
            DispatchError::Away(why) => {
                self.observer.dispatcher_away(&why);
                sleep(*back_off).await;
                *back_off = (*back_off * 2).min(BACK_OFF.1);
            }
            fatal => return Err(fatal),
        }
        Ok(())
    }
}

impl Parcel {
    fn brought(&self, now: Instant) -> Brought {
        Brought { token: self.token, answer: self.answer.clone(), quiet_ms: quiet_ms(self.last_word, now) }
    }
}

async fn within<T>(call: impl Future<Output = Result<T, DispatchError>>) -> Result<T, DispatchError> {
    match timeout(CALL_TIME_MAX, call).await {
        Ok(result) => result,
        Err(_) => {
            Err(DispatchError::Away(format!("the dispatcher did not answer within {} s", CALL_TIME_MAX.as_secs())))
        }
    }
}

fn lose(parcels: &[Parcel], lost: &[LeaseToken]) {
    for parcel in parcels.iter().filter(|parcel| lost.contains(&parcel.token)) {
        tracing::debug!(task = %parcel.token.task, "the lease was lost, the result is dropped");
        parcel.ticket.lose();
    }
}

/// Rounded down: a site is never said to have been silent for longer than it was.
fn quiet_ms(last_word: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(last_word).as_millis()).unwrap_or(u64::MAX)
}
