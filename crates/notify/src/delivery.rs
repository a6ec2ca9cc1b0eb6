//! Delivers notifications: one attempt is one exchange with the subscription's target, judged by what came back.

mod answer;
mod events;
mod explain;
pub(crate) mod http;
pub(crate) mod judge;
mod parcel;
mod rests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::worker::Work;
use malla_queue::{Act, Clock, Error, EventId, Failure, Leased, NextTry, Outcome, Result, Scope, Verdict};
use malla_reach::Guard;
use serde::Deserialize;
use serde_json::json;

use crate::known::Known;
use crate::{Event, Notify, RecentEvents, Subscription, SubscriptionChange, SubscriptionState};
use answer::Answer;
use events::Events;
use http::{Exchange, Http};
use judge::Judgement;
use parcel::Parcel;
use rests::Rests;

/// Subscriptions kept in memory.
const SUBSCRIPTIONS_MAX: usize = 10_000;
/// While the store cannot be read, notifications go back to their lanes no faster than this.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Publishes to MQTT brokers.
#[async_trait]
pub trait Publish: Send + Sync + 'static {
    /// Returns when the broker has it, and in any case within this time. The error is a sentence for people.
    async fn publish(&self, subscription: &Subscription, body: Vec<u8>, within: Duration) -> Result<(), String>;
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    Delivered,
    /// Failed, with another to come.
    Retried,
    /// Failed, and it was the last.
    Failed,
}

/// Told how deliveries go, for statistics. Every attempt that began also ends.
pub trait Observer: Send + Sync + 'static {
    fn attempt_began(&self, subscription: &Subscription);
    /// `waited` from the making of the notification until now.
    fn attempt_ended(&self, subscription: &Subscription, attempt: Attempt, waited: Duration);
}

struct Nobody;

impl Observer for Nobody {
    fn attempt_began(&self, _: &Subscription) {}
    fn attempt_ended(&self, _: &Subscription, _: Attempt, _: Duration) {}
}

/// Works on the tasks of this room.
pub struct Deliverer {
    notify: Arc<dyn Notify>,
    clock: Arc<dyn Clock>,
    subscriptions: Known<Subscription>,
    events: Events,
    http: Http,
    publish: Option<Arc<dyn Publish>>,
    observer: Arc<dyn Observer>,
    rests: Rests,
}

/// What a task of kind [`DELIVER`](crate::DELIVER) holds.
#[derive(Deserialize)]
struct Payload {
    event: EventId,
}

impl Deliverer {
    pub fn new(
        notify: Arc<dyn Notify>,
        clock: Arc<dyn Clock>,
        guard: Guard,
        recent: Arc<RecentEvents>,
    ) -> Result<Self> {
        Ok(Self {
            subscriptions: Known::new(notify.changes(), SUBSCRIPTIONS_MAX),
            events: Events::new(notify.clone(), recent),
            http: Http::new(guard)?,
            publish: None,
            observer: Arc::new(Nobody),
            rests: Rests::default(),
            notify,
            clock,
        })
    }

    pub fn with_publish(self, publish: Arc<dyn Publish>) -> Self {
        Self { publish: Some(publish), ..self }
    }

    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer, ..self }
    }

    /// The subscription and the event, or why there is nothing to deliver.
    async fn find(&self, task: &Leased) -> Result<(Arc<Subscription>, Arc<Event>), Verdict> {
        let Ok(Payload { event }) = serde_json::from_slice(&task.payload) else {
            return Err(never("this task names no event, so it is not a notification"));
        };
        let name = task.lane.name();
        let subscription = match self.subscription(name).await {
            Ok(subscription) if subscription.state == SubscriptionState::Disabled => {
                return Err(never(format!("the subscription {name} is disabled")));
            }
            Ok(subscription) => subscription,
            Err(Error::NotFound(_)) => return Err(never(format!("the subscription {name} was deleted"))),
            Err(error) => return Err(give_back(error).await),
        };
        match self.events.get(event).await {
            Ok(Some(event)) => Ok((subscription, event)),
            Ok(None) => Err(never(format!("the event {event} is no longer kept: it was older than the retention"))),
            Err(error) => Err(give_back(error).await),
        }
    }

    async fn subscription(&self, name: &str) -> Result<Arc<Subscription>> {
        match self.subscriptions.get(name) {
            Ok(known) => Ok(known),
            Err(at) => {
                let read = self.notify.subscription(&Scope::All, name).await?;
                Ok(self.subscriptions.keep(name, at, read))
            }
        }
    }

    async fn deliver(&self, task: &Leased, subscription: &Subscription, event: Arc<Event>) -> Verdict {
        let parcel = match parcel::pack(subscription, &event, task.token.task, self.clock.now()) {
            Ok(parcel) => parcel,
            Err(error) => return Verdict::Failed(Failure::new(error.to_string())),
        };
        if subscription.spec.target.is_mqtt() {
            return self.publish(subscription, parcel).await;
        }
        match self.http.send(subscription, &event, parcel).await {
            Exchange::Answered(answer) => self.verdict(task, subscription, answer).await,
            Exchange::Broken { note, answer } => {
                Verdict::Failed(Failure { answer: answer.map(|answer| answer.to_json()), ..Failure::new(note) })
            }
        }
    }

    async fn verdict(&self, task: &Leased, subscription: &Subscription, answer: Answer) -> Verdict {
        let told = Some(answer.to_json());
        match judge::judge(&answer, self.clock.now()) {
            Judgement::Done => Verdict::Done(Outcome { answer: told, repeatable: true, ..Outcome::default() }),
            Judgement::Accepted => {
                let confirm_within = Some(Duration::from_secs(subscription.spec.confirm_within_s));
                Verdict::Done(Outcome { answer: told, confirm_within, repeatable: true, ..Outcome::default() })
            }
            Judgement::Gone(note) => {
                self.disable(task, subscription, &note).await;
                Verdict::Failed(Failure { answer: told, next: NextTry::Never, ..Failure::new(note) })
            }
            Judgement::Wait(wait, note) => Verdict::Failed(Failure {
                answer: told,
                next: NextTry::After(wait),
                lane_rest: Some(wait),
                ..Failure::new(note)
            }),
            Judgement::Again(note) => Verdict::Failed(Failure { answer: told, ..Failure::new(note) }),
        }
    }

    /// The target wants no more. If this cannot be written now, the next notification will find out again.
    async fn disable(&self, task: &Leased, subscription: &Subscription, why: &str) {
        let change = SubscriptionChange { state: Some(SubscriptionState::Disabled), ..SubscriptionChange::default() };
        let act = Act {
            group: subscription.group,
            detail: json!({ "why": why, "notification": task.token.task }),
            ..Act::new("malla", "subscription.disable", &subscription.name)
        };
        if let Err(error) = self.notify.change_subscription(&Scope::All, &subscription.name, change, act).await {
            tracing::warn!(subscription = subscription.name, %error, "the target is gone, but this was not written");
        }
        self.subscriptions.forget(&subscription.name);
    }

    async fn publish(&self, subscription: &Subscription, parcel: Parcel) -> Verdict {
        let Some(publish) = &self.publish else {
            return Verdict::Failed(Failure::new("this process has no MQTT"));
        };
        let (body, within) = (parcel.body.to_vec(), subscription.spec.timeout());
        match publish.publish(subscription, body, within).await {
            Ok(()) => Verdict::Done(Outcome { repeatable: true, ..Outcome::default() }),
            Err(note) => Verdict::Failed(Failure::new(note)),
        }
    }
}

/// An attempt that is under way. If it is cancelled, the notification goes to somebody else.
struct Watched<'d> {
    deliverer: &'d Deliverer,
    task: &'d Leased,
    subscription: &'d Subscription,
    comes_to: Attempt,
}

impl<'d> Watched<'d> {
    fn begin(deliverer: &'d Deliverer, task: &'d Leased, subscription: &'d Subscription) -> Self {
        deliverer.observer.attempt_began(subscription);
        Self { deliverer, task, subscription, comes_to: Attempt::Retried }
    }

    fn end(mut self, verdict: &Verdict) {
        self.comes_to = match verdict {
            Verdict::Done(_) => Attempt::Delivered,
            Verdict::Failed(failure) => {
                let more = self.task.retry.after(self.task.failures.saturating_add(1)).is_some();
                if more && failure.next != NextTry::Never { Attempt::Retried } else { Attempt::Failed }
            }
            Verdict::Released { .. } => Attempt::Retried,
        };
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let waited = self.task.token.task.submitted_at().until(self.deliverer.clock.now());
        self.deliverer.observer.attempt_ended(self.subscription, self.comes_to, waited);
    }
}

#[async_trait]
impl Work for Deliverer {
    async fn work(&self, task: &Leased) -> Option<Verdict> {
        let (subscription, event) = match self.find(task).await {
            Ok(found) => found,
            Err(verdict) => return Some(verdict),
        };
        self.rests.turn(&subscription.name, subscription.spec.parallel).await;
        let watched = Watched::begin(self, task, &subscription);
        let verdict = self.deliver(task, &subscription, event).await;
        let verdict = self.rests.after(&subscription.name, verdict);
        watched.end(&verdict);
        Some(verdict)
    }
}

fn never(note: impl Into<String>) -> Verdict {
    Verdict::Failed(Failure { next: NextTry::Never, ..Failure::new(note) })
}

/// Not the target's fault: it costs no attempt.
async fn give_back(error: Error) -> Verdict {
    tokio::time::sleep(STORE_PAUSE).await;
    Verdict::Released { note: error.to_string() }
}
