//! Looks whether the rules of alerts hold, and lets them fire.

use std::sync::Arc;
use std::time::Duration;

use malla_queue::{Clock, Error, Result, Scope, UnixMs};

use super::notice::NAMED_MAX;
use super::{Alert, Alerts, Notice, Rule};
use crate::{Backlog, Notify, Statistics, Subscription, SubscriptionState};

/// Alerts and subscriptions in one step.
const PAGE: usize = 200;

pub struct Watch {
    alerts: Arc<dyn Alerts>,
    notify: Arc<dyn Notify>,
    statistics: Arc<dyn Statistics>,
    clock: Arc<dyn Clock>,
}

/// The subscriptions for which a rule holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    named: Vec<String>,
    /// Those beyond the first few.
    more: usize,
}

impl Watch {
    pub fn new(
        alerts: Arc<dyn Alerts>,
        notify: Arc<dyn Notify>,
        statistics: Arc<dyn Statistics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { alerts, notify, statistics, clock }
    }

    /// Looks at every alert once. Returns how many fired or were resolved by this.
    pub async fn run_once(&self) -> Result<u64> {
        let (mut fired, mut after) = (0, None::<String>);
        loop {
            let page = self.alerts.alerts(&Scope::All, after.as_deref(), PAGE).await?;
            for alert in page.iter().filter(|alert| alert.spec.enabled) {
                fired += u64::from(self.look(alert).await?);
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.name.clone()),
                _ => return Ok(fired),
            }
        }
    }

    /// Whether this made it fire or resolved it.
    async fn look(&self, alert: &Alert) -> Result<bool> {
        let now = self.clock.now();
        let found = self.found(alert, now).await?;
        let Some((firing, notice)) = due(alert, found, now) else { return Ok(false) };
        tracing::info!(alert = alert.name, text = notice.text, "an alert is sent");
        self.alerts.fire(alert, now, firing, notice.tasks(alert)?).await
    }

    async fn found(&self, alert: &Alert, now: UnixMs) -> Result<Found> {
        let mut found = Found::default();
        if let Some(name) = alert.spec.rule.subscription() {
            match self.notify.subscription(&alert.scope(), name).await {
                Ok(one) => self.among(&alert.spec.rule, &[one], now, &mut found).await?,
                // It was deleted: nothing is wrong with it any more.
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
            return Ok(found);
        }
        let mut after = None::<String>;
        loop {
            let page = self.notify.subscriptions(&alert.scope(), None, after.as_deref(), PAGE).await?;
            self.among(&alert.spec.rule, &page, now, &mut found).await?;
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.name.clone()),
                _ => return Ok(found),
            }
        }
    }

    /// Adds those of these subscriptions for which the rule holds.
    async fn among(&self, rule: &Rule, all: &[Subscription], now: UnixMs, found: &mut Found) -> Result<()> {
        let ids: Vec<_> = all.iter().map(|one| one.id).collect();
        let since = |seconds: u64| now.minus(Duration::from_secs(seconds));
        let holds: Vec<bool> = match rule {
            Rule::Failures { count, window_s, .. } => {
                let figures = self.statistics.figures_since(&ids, since(*window_s)).await?;
                figures.iter().map(|figures| figures.retried + figures.failed >= *count).collect()
            }
            Rule::Backlog { older_than_s, .. } => {
                let edge = since(*older_than_s);
                let backlogs = self.statistics.backlogs(&ids).await?;
                let kept = |one: &Subscription| one.state != SubscriptionState::Disabled;
                all.iter().zip(&backlogs).map(|(one, backlog)| kept(one) && waits_since(backlog, edge)).collect()
            }
            Rule::Stuck { for_s, .. } => {
                let edge = since(*for_s);
                let backlogs = self.statistics.backlogs(&ids).await?;
                let waits = |(one, backlog): (&Subscription, &Backlog)| {
                    one.state == SubscriptionState::Active && waits_since(backlog, edge)
                };
                let waits: Vec<bool> = all.iter().zip(&backlogs).map(waits).collect();
                let idle = match waits.contains(&true) {
                    true => self.statistics.figures_since(&ids, edge).await?,
                    false => return Ok(()),
                };
                waits.iter().zip(&idle).map(|(waits, figures)| *waits && figures.attempts() == 0).collect()
            }
        };
        for (one, _) in all.iter().zip(&holds).filter(|(_, holds)| **holds) {
            match found.named.len() < NAMED_MAX {
                true => found.named.push(one.name.clone()),
                false => found.more += 1,
            }
        }
        Ok(())
    }
}

fn waits_since(backlog: &Backlog, edge: UnixMs) -> bool {
    backlog.oldest.is_some_and(|oldest| oldest < edge)
}

/// What is to be said now, if anything, with the subscriptions for which the alert fires from then on.
fn due(alert: &Alert, found: Found, now: UnixMs) -> Option<(Vec<String>, Notice)> {
    if found.named.is_empty() {
        return alert.is_firing().then(|| (Vec::new(), Notice::resolved(alert, now)));
    }
    let quiet = alert.last_fired_at.is_some_and(|at| now < at.plus(alert.spec.quiet()));
    (!quiet).then(|| {
        let firing = found.named.clone();
        (firing, Notice::firing(alert, found.named, found.more, now))
    })
}
