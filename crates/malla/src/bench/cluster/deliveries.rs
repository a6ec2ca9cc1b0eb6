//! Events for a few subscribers who take their time to answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use super::nodes::Kind;
use super::{Distance, Workload};
use crate::bench::wire::{Caller, Manners, Receiver};
use crate::throwaway::Throwaway;

const ENDPOINT: &str = "scaling";
/// Each has a lane, and each event goes to all of them.
const SUBSCRIPTIONS: usize = 32;
/// Deliveries at once to one of them: no limit to what is measured here.
const PARALLEL: u32 = 1_000;
/// How long a subscriber far away takes to answer.
const ANSWER: Duration = Duration::from_millis(50);
/// Deliveries in hand of a node far away: so few that it waits for answers, not for this machine.
const IN_HAND: usize = 16;
const CALLERS: usize = 16;

pub(super) struct Deliveries {
    host: String,
    token: String,
    posted: u64,
    desk: Arc<Desk>,
    _receivers: Vec<Receiver>,
}

/// What arrived at all receivers.
#[derive(Default)]
struct Desk {
    /// What came twice counts once.
    first: AtomicU64,
    answer_ms: AtomicU64,
}

impl Deliveries {
    pub(super) async fn prepare(api: &Throwaway) -> Result<Self> {
        let (host, token) = (api.url.trim_start_matches("http://").to_owned(), api.token.clone());
        let mut caller = Caller::connect(&host, &token).await?;
        caller.ask("POST", "/api/v1/endpoints", &json!({ "name": ENDPOINT })).await?;
        let desk = Arc::new(Desk::default());
        let mut receivers = Vec::new();
        for n in 0..SUBSCRIPTIONS {
            let receiver = Receiver::start(desk.manners()).await?;
            let subscription = json!({
                "name": format!("{ENDPOINT}-{n}"), "endpoint": ENDPOINT, "target": format!("http://{}/", receiver.address),
                "parallel": PARALLEL, "timeout_s": 10, "retry_delays_s": [1, 1, 1],
            });
            caller.ask("POST", "/api/v1/subscriptions", &subscription).await?;
            receivers.push(receiver);
        }
        Ok(Self { host, token, posted: 0, desk, _receivers: receivers })
    }
}

impl Desk {
    /// Of one receiver.
    fn manners(self: &Arc<Self>) -> Manners {
        let (desk, seen) = (self.clone(), Mutex::new(Vec::new()));
        Manners::Ponders(Arc::new(move |body| {
            if number_of(body).is_some_and(|n| is_first(&mut seen.lock().unwrap_or_else(PoisonError::into_inner), n)) {
                desk.first.fetch_add(1, Ordering::Relaxed);
            }
            Duration::from_millis(desk.answer_ms.load(Ordering::Relaxed))
        }))
    }
}

impl Workload for Deliveries {
    const UNIT: &'static str = "events/s";
    const ONE: u64 = 1;
    /// What the answers alone allow a node far away.
    const EXPECTED: (f64, f64) = (IN_HAND as f64 * 1_000.0 / ANSWER.as_millis() as f64, 1_500.0);

    fn name(&self) -> &'static str {
        "deliveries"
    }

    fn kind(&self, distance: Distance) -> Kind {
        let mut settings = vec![("MALLA_ALLOW_PRIVATE", "true".into())];
        if let Distance::Far(_) = distance {
            settings.push(("MALLA_NOTIFY_CONCURRENCY", IN_HAND.to_string()));
        }
        Kind { role: "notifier", settings }
    }

    fn place(&mut self, distance: Distance) {
        let answer = if let Distance::Far(_) = distance { ANSWER } else { Duration::ZERO };
        self.desk.answer_ms.store(u64::try_from(answer.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    async fn give(&mut self, count: u64) -> Result<()> {
        let (first, last) = (self.posted, self.posted + count.div_ceil(SUBSCRIPTIONS as u64));
        let next = Arc::new(AtomicU64::new(first));
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (mut caller, next) = (Caller::connect(&self.host, &self.token).await?, next.clone());
            callers.spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= last {
                        return Ok::<_, anyhow::Error>(());
                    }
                    let (status, answer) = caller.send("POST", &format!("/in/{ENDPOINT}"), &body(n)).await?;
                    let said = String::from_utf8_lossy(&answer);
                    ensure!(status == 200, "an event was answered with {status}: {said}");
                }
            });
        }
        while let Some(ended) = callers.join_next().await {
            ended??;
        }
        self.posted = last;
        Ok(())
    }

    fn given(&self) -> u64 {
        self.posted * SUBSCRIPTIONS as u64
    }

    async fn done(&mut self) -> Result<u64> {
        Ok(self.desk.first.load(Ordering::Relaxed))
    }
}

fn body(n: u64) -> Vec<u8> {
    format!(r#"{{"n":{n:08},"email":"test@example.com","text":"what a subscriber gets"}}"#).into_bytes()
}

fn number_of(body: &[u8]) -> Option<usize> {
    std::str::from_utf8(body.get(5..13)?).ok()?.parse().ok()
}

fn is_first(seen: &mut Vec<bool>, n: usize) -> bool {
    if seen.len() <= n {
        seen.resize(n + 1, false);
    }
    !std::mem::replace(&mut seen[n], true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_counts_once() {
        let mut seen = Vec::new();
        assert_eq!(number_of(&body(7)), Some(7));
        assert!(is_first(&mut seen, 7) && is_first(&mut seen, 2));
        assert!(!is_first(&mut seen, 7));
    }
}
