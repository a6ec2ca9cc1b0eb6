//! Being a member: joining, heartbeats, joining anew when forgotten, leaving.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use malla_queue::{Clock, Error, Result, UnixMs};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::member::{Load, MemberId, NewMember};
use crate::verbs::Cluster;

/// As many heartbeats may be late before they count as missing.
const SLACK: u32 = 3;

/// A process as a member of the cluster.
pub struct Membership {
    cluster: Arc<dyn Cluster>,
    clock: Arc<dyn Clock>,
    me: NewMember,
    every: Duration,
    steady: Steady,
}

impl Membership {
    /// Its heartbeats come `every` so often.
    pub fn new(cluster: Arc<dyn Cluster>, clock: Arc<dyn Clock>, me: NewMember, every: Duration) -> Self {
        Self { cluster, clock, me, every, steady: Steady::new(every * SLACK) }
    }

    /// Tells for how long this process has reached the store without a gap.
    pub fn steady(&self) -> Steady {
        self.steady.clone()
    }

    /// Until told to stop; then it leaves. `shown` says at any time under which number this process is known.
    pub async fn run(
        self,
        shown: watch::Sender<Option<MemberId>>,
        mut load: impl FnMut() -> Load + Send,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut tick = interval(self.every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing = false;
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                _ = tick.tick() => {}
            }
            let away = || Err(Error::Unavailable("it does not answer".into()));
            match timeout(self.every * SLACK, self.announce(&shown, load())).await.unwrap_or_else(|_| away()) {
                Ok(()) => {
                    self.steady.heard(self.clock.now());
                    failing = false;
                }
                Err(error) => {
                    self.steady.missed();
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(%error, "cannot tell the others that this member lives, trying again");
                    }
                }
            }
        }
        let known = shown.send_replace(None);
        if let Some(member) = known
            && !matches!(timeout(self.every, self.cluster.leave(member)).await, Ok(Ok(())))
        {
            tracing::warn!("the others were not told that this member leaves: they will give it up");
        }
    }

    /// A heartbeat of one who is known, or a beginning.
    async fn announce(&self, shown: &watch::Sender<Option<MemberId>>, load: Load) -> Result<()> {
        let known = *shown.borrow();
        if let Some(member) = known {
            match self.cluster.beat(member, load).await {
                Err(Error::NotFound(_)) => tracing::warn!(%member, "this member was forgotten: joining anew"),
                other => return other,
            }
        }
        let member = self.cluster.join(self.me.clone()).await?;
        tracing::debug!(%member, "joined");
        shown.send_replace(Some(member));
        Ok(())
    }
}

/// For how long a process has reached the store without a gap. Whoever was cut off itself must not take others for dead.
#[derive(Debug, Clone)]
pub struct Steady {
    slack: Duration,
    /// Since when, and when last.
    heard: Arc<Mutex<Option<(UnixMs, UnixMs)>>>,
}

impl Steady {
    fn new(slack: Duration) -> Self {
        Self { slack, heard: Arc::default() }
    }

    /// Whether it was so for all of `past`.
    pub fn for_all_of(&self, past: Duration, now: UnixMs) -> bool {
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.is_some_and(|(since, last)| since.until(now) >= past && last.until(now) <= self.slack)
    }

    fn heard(&self, now: UnixMs) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let since = heard.filter(|(_, last)| last.until(now) <= self.slack).map_or(now, |(since, _)| since);
        *heard = Some((since, now));
    }

    fn missed(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_begins_the_time_anew() {
        let (steady, past) = (Steady::new(Duration::from_secs(9)), Duration::from_secs(15));
        let at = |s: i64| UnixMs(s * 1_000);
        for s in [0, 3, 6, 9, 12] {
            steady.heard(at(s));
        }
        assert!(!steady.for_all_of(past, at(14)));
        assert!(steady.for_all_of(past, at(15)));
        assert!(!steady.for_all_of(past, at(22)), "it was not heard for ten seconds");
        steady.heard(at(22));
        assert!(!steady.for_all_of(past, at(36)), "it began anew");
        for s in [25, 28, 31, 34] {
            steady.heard(at(s));
        }
        assert!(steady.for_all_of(past, at(37)));
        steady.missed();
        assert!(!steady.for_all_of(Duration::ZERO, at(37)));
    }
}
