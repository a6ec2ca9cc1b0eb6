//! The room `notify` put together: what takes events in and what delivers them share the events just accepted.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use malla_notify::mqtt::{Brokers, Listener, Publisher};
use malla_notify::{AlertSender, Alerts, Deliverer, Intake, Notify, RecentEvents, Recorder, Statistics};
use malla_queue::worker::Work;
use malla_queue::{Clock as _, SystemClock};
use malla_reach::Guard;
use malla_store::Opened;

use crate::config::Config;
use crate::member::member_name;

pub(crate) struct Notifying {
    pub(crate) notify: Arc<dyn Notify>,
    pub(crate) intake: Arc<Intake>,
    pub(crate) statistics: Arc<dyn Statistics>,
    pub(crate) alerts: Arc<dyn Alerts>,
    recorder: Arc<Recorder>,
    /// Under what name it records: another one after each start, since it begins to count anew.
    process: String,
    recent: Arc<RecentEvents>,
    guard: Guard,
}

impl Notifying {
    pub(crate) fn new(config: &Config, store: &Opened, clock: &Arc<SystemClock>) -> Result<Self> {
        let recent = Arc::new(RecentEvents::default());
        let recorder = Arc::new(Recorder::new(clock.clone()));
        let intake = Intake::new(store.notify.clone(), recent.clone()).with_recorder(recorder.clone());
        Ok(Self {
            notify: store.notify.clone(),
            intake: Arc::new(intake),
            statistics: store.statistics.clone(),
            alerts: store.alerts.clone(),
            recorder,
            process: format!("{}-{}", member_name(), clock.now().0),
            recent,
            guard: config.guard()?,
        })
    }

    /// Writes down what was counted since the last time.
    pub(crate) async fn record(&self) -> malla_queue::Result<()> {
        self.recorder.write(&*self.statistics, &self.process).await
    }

    pub(crate) fn deliverer(&self, clock: &Arc<SystemClock>) -> Result<Arc<dyn Work>> {
        let deliverer = Deliverer::new(self.notify.clone(), clock.clone(), self.guard.clone(), self.recent.clone())
            .context("cannot prepare deliveries")?;
        let deliverer = deliverer.with_observer(self.recorder.clone());
        Ok(Arc::new(deliverer.with_publish(Arc::new(Publisher::new(self.brokers()?)))))
    }

    pub(crate) fn alert_sender(&self, config: &Config, clock: &Arc<SystemClock>) -> Result<Arc<dyn Work>> {
        let (alerts, guard) = (self.alerts.clone(), self.guard.clone());
        let sender = AlertSender::new(alerts, guard, config.mail()?, clock.clone());
        Ok(Arc::new(sender.context("cannot prepare alerts")?))
    }

    pub(crate) fn listener(&self) -> Result<Arc<dyn Work>> {
        Ok(Arc::new(Listener::new(self.notify.clone(), self.intake.clone(), self.brokers()?)))
    }

    fn brokers(&self) -> Result<Brokers> {
        Brokers::new(self.guard.clone()).context("cannot prepare connections to brokers")
    }
}
