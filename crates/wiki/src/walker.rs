//! Walks histories: a task is one request to a wiki, judged, committed with what it brought, and followed by the next.

mod errand;
mod find;
mod probe;
mod reconcile;
mod scraping;
mod settle;
mod stage;
mod walk;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::worker::Work;
use malla_queue::{Clock, Failure, Leased, NextTry, Result, RetryDelays, Verdict};
use malla_reach::Guard;

use crate::extraction::PROBE;
use crate::mediawiki::{Http, HttpOptions, Template};
use crate::verbs::Wikis;
use errand::Errand;
use stage::Probe;
pub(crate) use stage::{Aim, Payload, Stage};

/// The waits before a step is tried again, in seconds; the last one many times. A wiki may be away for a day.
const RETRIES_S: [u64; 16] = [1, 2, 4, 8, 15, 30, 60, 60, 120, 120, 300, 300, 600, 600, 1_200, 1_800];
const LAST_RETRIES: usize = 24;
const LAST_RETRY_S: u64 = 3_600;

pub(crate) fn retry_delays() -> RetryDelays {
    RetryDelays::seconds(RETRIES_S.into_iter().chain(std::iter::repeat_n(LAST_RETRY_S, LAST_RETRIES)))
}

#[derive(Debug, Clone)]
pub struct WalkerOptions {
    /// Who asks. Without it no request leaves.
    pub contact: String,
    /// Milliseconds between two requests to a host.
    pub gap_ms: u64,
    /// Where the wiki of a locale is. Its host may always be reached, wherever it is.
    pub template: String,
    /// For one exchange, from the connection to the last byte.
    pub timeout: Duration,
    /// Of one answer, unpacked.
    pub answer_bytes_max: usize,
    /// Seconds of replication lag at which a wiki shall turn us away.
    pub maxlag: u64,
    pub guard: Guard,
}

/// Works on the tasks of this room.
pub struct Walker {
    wikis: Arc<dyn Wikis>,
    clock: Arc<dyn Clock>,
    http: Http,
    template: Template,
    /// Without it no request leaves.
    has_contact: bool,
    gap_ms: u64,
    maxlag: u64,
}

impl Walker {
    pub fn new(wikis: Arc<dyn Wikis>, clock: Arc<dyn Clock>, options: WalkerOptions) -> Result<Self> {
        let template = Template::new(&options.template)?;
        let http = HttpOptions {
            contact: options.contact.trim(),
            guard: options.guard,
            template: template.clone(),
            timeout: options.timeout,
            answer_bytes_max: options.answer_bytes_max,
        };
        let http = Http::new(clock.clone(), http)?;
        let has_contact = !options.contact.trim().is_empty();
        Ok(Self { wikis, clock, http, template, has_contact, gap_ms: options.gap_ms, maxlag: options.maxlag })
    }
}

#[async_trait]
impl Work for Walker {
    async fn work(&self, task: &Leased) -> Option<Verdict> {
        if task.kind.as_str() == PROBE {
            let Ok(probe) = serde_json::from_slice::<Probe>(&task.payload) else { return Some(foreign()) };
            let mut errand = Errand::new(self, task, None);
            let turn = errand.probe(probe).await;
            return errand.settle(turn).await;
        }
        let Ok(payload) = serde_json::from_slice::<Payload>(&task.payload) else { return Some(foreign()) };
        let mut errand = Errand::new(self, task, Some(payload));
        let turn = errand.run().await;
        errand.settle(turn).await
    }
}

fn foreign() -> Verdict {
    Verdict::Failed(Failure { next: NextTry::Never, ..Failure::new("the payload is not one of this room") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wiki_may_be_away_for_a_day() {
        let delays = retry_delays();
        assert!(delays.check().is_ok());
        assert!(delays.as_millis().iter().sum::<u64>() > 24 * 3_600 * 1_000);
    }
}
