//! What is counted about endpoints and subscriptions: by the minute, the hour and the day. Each process counts what it
//! does itself, writes it down every few seconds, and a reader adds the processes up. These are figures for people: a
//! killed process takes the last seconds of them along. What is in which state is the queue's to know, exactly.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Clock, Error, Result, Scope, UnixMs};
use serde::{Deserialize, Serialize};

use crate::{Attempt, EndpointId, Observer, Subscription, SubscriptionId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Endpoint(EndpointId),
    Subscription(SubscriptionId),
}

/// The length of what is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Minute,
    Hour,
    Day,
}

impl Step {
    pub const ALL: [Step; 3] = [Step::Minute, Step::Hour, Step::Day];

    pub fn lasts(self) -> Duration {
        Duration::from_secs(match self {
            Step::Minute => 60,
            Step::Hour => 3_600,
            Step::Day => 86_400,
        })
    }

    /// How long its figures are kept.
    pub fn kept_for(self) -> Duration {
        Duration::from_secs(86_400)
            * match self {
                Step::Minute => 2,
                Step::Hour => 60,
                Step::Day => 800,
            }
    }

    /// The beginning of the step that `at` is in.
    pub fn begin(self, at: UnixMs) -> UnixMs {
        let length = i64::try_from(self.lasts().as_millis()).unwrap_or(i64::MAX);
        UnixMs(at.0.div_euclid(length) * length)
    }
}

/// Buckets of a [`Latencies`]: each is √2 times as wide as the one before, the first ends at a millisecond.
const BUCKETS: usize = 48;

/// How long things took, coarsely: a percentile read from it is right within a fifth.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Latencies(Vec<u64>);

impl Latencies {
    fn add(&mut self, took: Duration) {
        let bucket = bucket_of(took.as_secs_f64() * 1_000.0);
        if self.0.len() <= bucket {
            self.0.resize(bucket + 1, 0);
        }
        self.0[bucket] += 1;
    }

    fn merge(&mut self, other: &Latencies) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(sum, more)| *sum += more);
    }

    /// The time within which this share of them (0 to 1) was done, in milliseconds.
    pub fn percentile_ms(&self, share: f64) -> Option<f64> {
        let total: u64 = self.0.iter().sum();
        let wanted = (total as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = self.0.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(upper_ms(bucket))
    }
}

fn bucket_of(ms: f64) -> usize {
    if ms <= 1.0 { 0 } else { ((ms.log2() * 2.0).ceil() as usize).min(BUCKETS - 1) }
}

fn upper_ms(bucket: usize) -> f64 {
    2f64.powf(bucket as f64 / 2.0)
}

/// The figures of one step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Events taken in, and their bytes.
    pub events: u64,
    pub bytes: u64,
    /// Attempts that ended, and how.
    pub delivered: u64,
    pub retried: u64,
    pub failed: u64,
    /// Attempts at the same time, at most.
    pub peak: u64,
    /// From the making of a notification to its delivery.
    pub latencies: Latencies,
}

impl Figures {
    pub fn attempts(&self) -> u64 {
        self.delivered + self.retried + self.failed
    }

    /// Adds the figures of another process, subject or time. Peaks do not add up: the highest counts.
    pub fn merge(&mut self, other: &Figures) {
        self.events += other.events;
        self.bytes += other.bytes;
        self.delivered += other.delivered;
        self.retried += other.retried;
        self.failed += other.failed;
        self.peak = self.peak.max(other.peak);
        self.latencies.merge(&other.latencies);
    }
}

/// The figures of one subject and one step, as one process counted them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub subject: Subject,
    pub step: Step,
    pub begin: UnixMs,
    pub figures: Figures,
}

/// What waits in a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    pub waiting: u64,
    /// Since when the one waits that has been due for longest. One that was tried is due again when its delay is over.
    pub oldest: Option<UnixMs>,
}

/// Where figures are kept.
#[async_trait]
pub trait Statistics: Send + Sync + 'static {
    /// Keeps these instead of what `process` said before about the same subjects and steps.
    async fn record(&self, process: &str, counted: Vec<Counted>) -> Result<()>;
    /// The figures of `subject`, or of all that `scope` sees, step by step; steps without any are left out. Those of the
    /// subscriptions to an endpoint are among the endpoint's. At most [`STEPS_MAX`] steps.
    async fn figures(
        &self,
        scope: &Scope,
        subject: Option<Subject>,
        step: Step,
        from: UnixMs,
        to: UnixMs,
    ) -> Result<Vec<(UnixMs, Figures)>>;
    /// Forgets figures that are older than their step is kept. Returns how many rows went, one bounded step.
    async fn forget_figures(&self, limit: usize) -> Result<u64>;
    /// What each of these subscriptions did from `from` on, by whole minutes, in their order.
    async fn figures_since(&self, subscriptions: &[SubscriptionId], from: UnixMs) -> Result<Vec<Figures>>;
    /// What waits in each of these subscriptions, in their order.
    async fn backlogs(&self, subscriptions: &[SubscriptionId]) -> Result<Vec<Backlog>>;
}

/// Steps that one question may span.
pub const STEPS_MAX: usize = 5_000;

/// Refuses a range that is empty or spans too many steps.
pub fn check_range(step: Step, from: UnixMs, to: UnixMs) -> Result<()> {
    if from >= to {
        return Err(Error::Invalid("the range is empty: \"from\" is before \"to\"".into()));
    }
    let steps = from.until(to).as_secs() / step.lasts().as_secs();
    if steps > STEPS_MAX as u64 {
        return Err(Error::Invalid(format!("the range has {steps} steps, and at most {STEPS_MAX}: take longer steps")));
    }
    Ok(())
}

/// Subjects counted at once; who comes after these is not counted before a day is over.
const SUBJECTS_MAX: usize = 100_000;

/// Figures written in one transaction.
const RECORD_MAX: usize = 500;

/// Counts what this process does.
pub struct Recorder {
    clock: Arc<dyn Clock>,
    counting: Mutex<HashMap<Subject, Counting>>,
}

#[derive(Default)]
struct Counting {
    running: u64,
    steps: [(UnixMs, Figures, bool); 3],
    /// Figures of steps that are over and not written yet.
    over: Vec<(Step, UnixMs, Figures)>,
}

impl Counting {
    fn count(&mut self, now: UnixMs, change: impl Fn(&mut Figures)) {
        for (step, (begin, figures, changed)) in Step::ALL.into_iter().zip(&mut self.steps) {
            let current = step.begin(now);
            // A clock that is set back a little goes on in the step it was in: a step begun twice would lose its first part.
            if current > *begin || current.plus(step.lasts()) < *begin {
                if *changed {
                    self.over.push((step, *begin, std::mem::take(figures)));
                }
                (*begin, *figures) = (current, Figures { peak: self.running, ..Figures::default() });
            }
            change(figures);
            *changed = true;
        }
    }

    fn take_changed(&mut self, subject: Subject, into: &mut Vec<Counted>) {
        let over = self.over.drain(..).map(|(step, begin, figures)| Counted { subject, step, begin, figures });
        into.extend(over);
        for (step, (begin, figures, changed)) in Step::ALL.into_iter().zip(&mut self.steps) {
            if std::mem::take(changed) {
                into.push(Counted { subject, step, begin: *begin, figures: figures.clone() });
            }
        }
    }
}

impl Recorder {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, counting: Mutex::new(HashMap::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Counting>> {
        self.counting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, subject: Subject, change: impl Fn(&mut Figures)) {
        let now = self.clock.now();
        let mut counting = self.lock();
        if counting.len() < SUBJECTS_MAX || counting.contains_key(&subject) {
            counting.entry(subject).or_default().count(now, change);
        }
    }

    /// An event was taken in.
    pub fn accepted(&self, endpoint: EndpointId, bytes: usize) {
        self.count(Subject::Endpoint(endpoint), |figures| {
            figures.events += 1;
            figures.bytes += bytes as u64;
        });
    }

    /// Writes down what has changed since the last time. If that fails it is written the next time.
    pub async fn write(&self, statistics: &dyn Statistics, process: &str) -> Result<()> {
        let mut unwritten = Unwritten { recorder: self, counted: Vec::new() };
        let today = Step::Day.begin(self.clock.now());
        self.lock().retain(|subject, counting| {
            counting.take_changed(*subject, &mut unwritten.counted);
            counting.running > 0 || counting.steps[Step::Day as usize].0 >= today
        });
        for chunk in unwritten.counted.chunks(RECORD_MAX) {
            statistics.record(process, chunk.to_vec()).await?;
        }
        unwritten.counted.clear();
        Ok(())
    }

    fn mark_changed(&self, counted: &[Counted]) {
        let mut counting = self.lock();
        for row in counted {
            let counting = counting.entry(row.subject).or_default();
            let slot = counting.steps.iter_mut().zip(Step::ALL).find(|(_, step)| *step == row.step);
            match slot {
                Some(((begin, _, changed), _)) if *begin == row.begin => *changed = true,
                _ => counting.over.push((row.step, row.begin, row.figures.clone())),
            }
        }
    }
}

/// Figures on their way to the store: if that fails or is given up, they have changed since the last time.
struct Unwritten<'r> {
    recorder: &'r Recorder,
    counted: Vec<Counted>,
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        self.recorder.mark_changed(&self.counted);
    }
}

impl Observer for Recorder {
    fn attempt_began(&self, subscription: &Subscription) {
        let now = self.clock.now();
        let (mut counting, subject) = (self.lock(), Subject::Subscription(subscription.id));
        if counting.len() >= SUBJECTS_MAX && !counting.contains_key(&subject) {
            return;
        }
        let counting = counting.entry(subject).or_default();
        counting.running += 1;
        let running = counting.running;
        counting.count(now, |figures| figures.peak = figures.peak.max(running));
    }

    fn attempt_ended(&self, subscription: &Subscription, attempt: Attempt, waited: Duration) {
        let subject = Subject::Subscription(subscription.id);
        self.count(subject, |figures| match attempt {
            Attempt::Delivered => {
                figures.delivered += 1;
                figures.latencies.add(waited);
            }
            Attempt::Retried => figures.retried += 1,
            Attempt::Failed => figures.failed += 1,
        });
        if let Some(counting) = self.lock().get_mut(&subject) {
            counting.running = counting.running.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use malla_queue::ManualClock;

    #[test]
    fn percentiles_are_right_within_a_bucket() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.percentile_ms(0.5), None);
        (1..=1_000).for_each(|ms| latencies.add(Duration::from_millis(ms)));
        for (share, exact) in [(0.5, 500.0), (0.99, 990.0)] {
            let read = latencies.percentile_ms(share).expect("there are some");
            assert!((exact..=exact * 1.5).contains(&read), "{share}: {read}");
        }
        latencies.add(Duration::from_secs(1_000_000_000));
        assert!(latencies.percentile_ms(1.0).is_some_and(f64::is_finite));
    }

    #[test]
    fn steps_begin_where_the_clock_says() {
        let at = UnixMs(1_700_000_123_456);
        assert_eq!(Step::Minute.begin(at).0 % 60_000, 0);
        assert_eq!(Step::Day.begin(at).0 % 86_400_000, 0);
        assert!(Step::Hour.begin(at) <= at && at.0 - Step::Hour.begin(at).0 < 3_600_000);
    }

    #[test]
    fn a_minute_that_is_over_is_still_written() {
        let clock = Arc::new(ManualClock::at(UnixMs(60_000)));
        let recorder = Recorder::new(clock.clone());
        recorder.accepted(EndpointId(1), 10);
        clock.advance(Duration::from_secs(60));
        recorder.accepted(EndpointId(1), 5);
        let mut counted = Vec::new();
        recorder.lock().iter_mut().for_each(|(subject, counting)| counting.take_changed(*subject, &mut counted));
        let minutes: Vec<_> =
            counted.iter().filter(|row| row.step == Step::Minute).map(|row| (row.begin.0, row.figures.bytes)).collect();
        assert_eq!(minutes, [(60_000, 10), (120_000, 5)]);
        let day = counted.iter().find(|row| row.step == Step::Day).expect("a day");
        assert_eq!((day.figures.events, day.figures.bytes), (2, 15));
    }
}
