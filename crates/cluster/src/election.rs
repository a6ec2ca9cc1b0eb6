//! Standing for the leadership, and knowing in time that it is lost.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::member::MemberId;
use crate::verbs::{Cluster, Term};

/// How often a member stands for the leadership, and for how long it has it.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub every: Duration,
    pub lease_for: Duration,
}

/// A member that stands for the leadership.
pub struct Election {
    cluster: Arc<dyn Cluster>,
    pace: Pace,
    /// The number under which this process is known at the moment: it changes when it joins anew.
    member: watch::Receiver<Option<MemberId>>,
}

impl Election {
    pub fn new(cluster: Arc<dyn Cluster>, pace: Pace, member: watch::Receiver<Option<MemberId>>) -> Self {
        Self { cluster, pace, member }
    }

    /// Until told to stop. `term` says at any time whether this process leads; it stops saying so before the store would let
    /// another one lead, as far as clocks can tell (the fence in the store does not depend on it).
    pub async fn run(mut self, term: watch::Sender<Option<Term>>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            _ = self.member.wait_for(Option::is_some) => {}
        }
        let mut held: Option<(Term, Instant)> = None;
        let mut tick = tokio::time::interval(self.pace.every);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let expiry = held.map(|(_, until)| until);
            let over = async {
                match expiry {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                () = over => {
                    held = None;
                    tracing::warn!("the leadership could not be prolonged in time: standing down");
                    show(&term, None);
                    continue;
                }
                _ = tick.tick() => {}
            }
            let asked = Instant::now();
            let answer = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                answer = self.stand(held) => answer,
            };
            match answer {
                Answer::Leads(number) => {
                    held = Some((number, asked + self.pace.lease_for));
                    if show(&term, Some(number)) {
                        tracing::info!(term = %number, "this member leads");
                    }
                }
                Answer::Another => {
                    held = None;
                    if show(&term, None) {
                        tracing::warn!("another member leads now: standing down");
                    }
                }
                // What is held stays held until it runs out.
                Answer::NotKnown => {}
            }
        }
        show(&term, None);
        if let Some((number, _)) = held {
            // The next one need not wait for the lease to run out.
            let _ = tokio::time::timeout(self.pace.every, self.cluster.resign(number)).await;
        }
    }

    async fn stand(&self, held: Option<(Term, Instant)>) -> Answer {
        let Some(member) = *self.member.borrow() else { return Answer::NotKnown };
        // An answer that comes after the lease is of no use.
        let by = held.map_or(Instant::now() + self.pace.lease_for, |(_, until)| until);
        match tokio::time::timeout_at(by, self.cluster.campaign(member, self.pace.lease_for)).await {
            Ok(Ok(leadership)) if leadership.member == member => Answer::Leads(leadership.term),
            Ok(Ok(_)) => Answer::Another,
            Ok(Err(error)) => {
                tracing::debug!(%error, "cannot stand for the leadership");
                Answer::NotKnown
            }
            Err(_) => Answer::NotKnown,
        }
    }
}

enum Answer {
    Leads(Term),
    Another,
    NotKnown,
}

/// True if it changed.
fn show(term: &watch::Sender<Option<Term>>, now: Option<Term>) -> bool {
    term.send_if_modified(|shown| std::mem::replace(shown, now) != now)
}
