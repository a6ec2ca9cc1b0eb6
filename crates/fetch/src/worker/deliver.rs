//! Sends results while fetching goes on, and keeps them until the dispatcher has them.

use std::sync::Arc;
use std::time::Duration;

use malla_queue::LeaseToken;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use super::outbox::{Outbox, Parcel, Undone};
use super::{BACK_OFF, Observer, later};
use crate::{Dispatch, DispatchError};

/// Calls under way at once.
const CALLS_MAX: usize = 4;
/// A call that takes longer is lost.
const CALL_TIME_MAX: Duration = Duration::from_secs(30);

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
            Some(called) = calls.join_next() => called.unwrap_or_else(|panic| Err(panicked(&panic)))?,
        }
    }
    Ok(())
}

/// The results of that call are gone; whoever runs this device should know.
pub(super) fn panicked(panic: &JoinError) -> DispatchError {
    DispatchError::Refused(format!("results could not be returned: {panic}"))
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
            let items = undone.iter().map(|undone| undone.quiet(now)).collect();
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
