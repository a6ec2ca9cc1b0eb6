//! What is counted of events that come in.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use malla_notify::{
    Backlog, Counted, Credentials, EndpointId, EndpointOptions, Figures, Intake, IntakeError, MqttSource, NewEvent,
    RecentEvents, Recorder, Statistics, Step, Subject, SubscriptionId,
};
use malla_queue::{Clock as _, Error, ManualClock, Result, Scope, UnixMs};

use crate::fake::Fake;
use crate::house::content;

const AT: UnixMs = UnixMs(1_800_000_000_000);

/// Keeps what it is given, or refuses it.
#[derive(Default)]
struct Book {
    rows: Mutex<Vec<Counted>>,
    away: Mutex<bool>,
}

#[async_trait]
impl Statistics for Book {
    async fn record(&self, _: &str, counted: Vec<Counted>) -> Result<()> {
        if *self.away.lock().expect("no panic") {
            return Err(Error::Unavailable("away".into()));
        }
        self.rows.lock().expect("no panic").extend(counted);
        Ok(())
    }

    async fn figures(
        &self,
        _: &Scope,
        _: Option<Subject>,
        _: Step,
        _: UnixMs,
        _: UnixMs,
    ) -> Result<Vec<(UnixMs, Figures)>> {
        unreachable!("only written here")
    }

    async fn forget_figures(&self, _: usize) -> Result<u64> {
        unreachable!("only written here")
    }

    async fn figures_since(&self, _: &[SubscriptionId], _: UnixMs) -> Result<Vec<Figures>> {
        unreachable!("only written here")
    }

    async fn backlogs(&self, _: &[SubscriptionId]) -> Result<Vec<Backlog>> {
        unreachable!("only written here")
    }
}

impl Book {
    /// Events and bytes of the minutes written, for each subject.
    fn minutes(&self) -> Vec<(Subject, u64, u64)> {
        let rows = self.rows.lock().expect("no panic");
        let minutes = rows.iter().filter(|row| row.step == Step::Minute);
        minutes.map(|row| (row.subject, row.figures.events, row.figures.bytes)).collect()
    }
}

fn endpoint_id(fake: &Fake, name: &str) -> EndpointId {
    fake.routes.lock().expect("no panic")[name].endpoint.id
}

#[tokio::test]
async fn events_are_counted_however_they_come_and_only_if_they_are_safe() {
    let (fake, book) = (Arc::new(Fake::default()), Book::default());
    fake.endpoint("orders", EndpointOptions { max_body: 10, ..EndpointOptions::default() });
    let source = MqttSource { broker: "mqtt://broker".into(), topic: "t".into(), username: None, password: None };
    fake.endpoint("sensors", EndpointOptions { mqtt: Some(source), ..EndpointOptions::default() });
    let clock = Arc::new(ManualClock::at(AT));
    let recorder = Arc::new(Recorder::new(clock.clone()));
    let intake = Intake::new(fake.clone(), Arc::new(RecentEvents::default())).with_recorder(recorder.clone());
    for body in ["12345", "123"] {
        intake.take("orders", Credentials::default(), content(body), None, clock.now()).await.expect("taken");
    }
    let large = intake.take("orders", Credentials::default(), content("12345678901"), None, clock.now()).await;
    assert_eq!(large, Err(IntakeError::TooLarge { max: 10 }));
    let event = NewEvent { method: "POST".into(), body: b"21".to_vec(), ..NewEvent::default() };
    intake.take_from_broker("sensors", event).await.expect("taken");
    recorder.write(&book, "here").await.expect("written");
    let mut minutes = book.minutes();
    minutes.sort();
    let of = |name| Subject::Endpoint(endpoint_id(&fake, name));
    assert_eq!(minutes, [(of("orders"), 2, 8), (of("sensors"), 1, 2)]);
}

#[tokio::test]
async fn what_could_not_be_written_is_written_later() {
    let book = Book::default();
    let clock = Arc::new(ManualClock::at(AT));
    let recorder = Recorder::new(clock.clone());
    recorder.accepted(EndpointId(1), 10);
    *book.away.lock().expect("no panic") = true;
    recorder.write(&book, "here").await.expect_err("away");
    clock.advance(std::time::Duration::from_secs(3 * 86_400));
    recorder.accepted(EndpointId(2), 1);
    *book.away.lock().expect("no panic") = false;
    recorder.write(&book, "here").await.expect("written");
    let mut minutes = book.minutes();
    minutes.sort();
    assert_eq!(minutes, [(Subject::Endpoint(EndpointId(1)), 1, 10), (Subject::Endpoint(EndpointId(2)), 1, 1)]);
    recorder.write(&book, "here").await.expect("written");
    assert_eq!(book.minutes().len(), 2, "nothing has changed");
}
