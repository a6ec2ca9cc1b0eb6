//! Studies and batches for tests.

use std::sync::Arc;
use std::time::Duration;

use malla_analyze::analysis::Role;
use malla_analyze::lines::{BadLine, Lines};
use malla_analyze::{
    BatchHash, BatchKey, Keep, NewBatch, NewStudy, Only, ROOM, Settled, Settlement, Study, StudyId, StudyState,
    TakenBatch,
};
use malla_queue::{Failure, Leased, NextTry, Outcome, Result, Scope, Verdict};
use serde_json::{Value, json};

use crate::harness::{House, act};

/// The kind of analysis that tests ask for.
pub(crate) const KIND: &str = "bike-rides";
/// Studies that may be under way at once.
pub(crate) const STUDIES_MAX: u64 = 2;
const DAY: Duration = Duration::from_secs(24 * 3_600);
pub(crate) const KEEP: Keep = Keep { idle_for: DAY, studies_for: Duration::from_secs(30 * 24 * 3_600), step: 100 };

pub(crate) fn new_study() -> NewStudy {
    NewStudy::new(None, KIND, &json!({ "distance_km": 4 }), STUDIES_MAX).expect("a study")
}

pub(crate) fn key(input: &str, part: &str, seq: u64) -> BatchKey {
    BatchKey { input: input.into(), part: part.into(), seq }
}

/// A batch with this body. (The store does not look into it.)
pub(crate) fn batch(key: BatchKey, body: &str) -> NewBatch {
    let role = if key.input == "trips" { Role::Records } else { Role::Dimension };
    NewBatch {
        key,
        role,
        hash: BatchHash::of(body.as_bytes()),
        size: 10 * body.len() as u64,
        packed: Arc::new(body.as_bytes().to_vec().into()),
        waiting_bytes_max: 1_000_000,
        dimension_bytes_max: 1_000_000,
    }
}

pub(crate) fn trips(part: &str, seq: u64) -> NewBatch {
    let key = key("trips", part, seq);
    let body = key.to_string();
    batch(key, &body)
}

pub(crate) fn weather(part: &str) -> NewBatch {
    batch(key("weather", part, 0), "rain")
}

/// What a task of this room is about.
pub(crate) fn batch_of(leased: &Leased) -> Option<BatchKey> {
    let payload: Value = serde_json::from_slice(&leased.payload).expect("JSON");
    payload.get("batch").map(|key| serde_json::from_value(key.clone()).expect("a batch's key"))
}

/// One line read and one bad.
pub(crate) fn lines(batch: &BatchKey) -> Lines {
    let bad = BadLine { batch: batch.to_string(), line: 3, why: "no date".into(), text: "x\0y".into() };
    Lines { read: 1, bad: 1, samples: vec![bad] }
}

impl House {
    pub(crate) async fn begin(&self) -> StudyId {
        self.analyze.begin(new_study(), act("analysis.begin")).await.expect("begins").id
    }

    pub(crate) async fn study(&self, id: StudyId) -> Study {
        self.analyze.study(&Scope::All, id).await.expect("the study is there")
    }

    pub(crate) async fn study_state(&self, id: StudyId) -> StudyState {
        self.study(id).await.state
    }

    pub(crate) async fn take(&self, id: StudyId, batch: NewBatch) -> Result<TakenBatch> {
        self.analyze.take(&Scope::All, id, batch).await
    }

    /// Takes a batch that is new.
    pub(crate) async fn send(&self, id: StudyId, batch: NewBatch) {
        assert_eq!(self.take(id, batch).await, Ok(TakenBatch::New));
    }

    pub(crate) async fn complete(&self, id: StudyId, batches: u64) -> Result<Study> {
        self.analyze.complete(&Scope::All, id, batches, act("analysis.complete")).await
    }

    pub(crate) async fn cancel(&self, id: StudyId) -> Result<()> {
        self.analyze.cancel(&Scope::All, id, Only::Either, act("analysis.cancel")).await
    }

    /// A study to which weather and so many batches of trips of one part have come.
    pub(crate) async fn study_with(&self, trips_of: u64) -> StudyId {
        let id = self.begin().await;
        self.send(id, weather("montreal")).await;
        for seq in 0..trips_of {
            self.send(id, trips("montreal", seq)).await;
        }
        id
    }

    pub(crate) async fn lease_analyses(&self) -> Vec<Leased> {
        self.lease_from(ROOM, "worker", 1_000).await
    }

    pub(crate) async fn lease_analysis(&self) -> Leased {
        let mut leased = self.lease_analyses().await;
        assert_eq!(leased.len(), 1, "{leased:?}");
        leased.remove(0)
    }

    fn settled_as(&self, study: StudyId, leased: &Leased, verdict: Verdict, outcome: Settlement) -> Settled {
        Settled { token: leased.token, ending: self.ending(leased, verdict), study, outcome }
    }

    /// The batch of this task, mapped to its own name.
    pub(crate) fn mapped(&self, study: StudyId, leased: &Leased) -> Settled {
        let batch = batch_of(leased).expect("a task that maps");
        let (partial, lines) = (batch.to_string().into_bytes(), lines(&batch));
        let outcome = Settlement::Mapped { batch, partial, lines };
        self.settled_as(study, leased, Verdict::Done(Outcome::default()), outcome)
    }

    pub(crate) fn answered(&self, study: StudyId, leased: &Leased) -> Settled {
        assert_eq!(batch_of(leased), None);
        let answers = ["rain", "year"].map(|name| (name.to_owned(), format!("{{\"{name}\":1}}").into_bytes()));
        let outcome = Settlement::Answered { answers: answers.to_vec() };
        self.settled_as(study, leased, Verdict::Done(Outcome::default()), outcome)
    }

    pub(crate) fn rejected(&self, study: StudyId, leased: &Leased, why: &str) -> Settled {
        let failure = Failure { next: NextTry::Never, ..Failure::new(why) };
        self.settled_as(study, leased, Verdict::Failed(failure), Settlement::Failed { why: why.into() })
    }

    pub(crate) async fn commit_one(&self, settled: Settled) -> Result<()> {
        self.analyze.commit(settled).await
    }

    /// Maps all batches that wait.
    pub(crate) async fn map_all(&self, id: StudyId) {
        for leased in self.lease_analyses().await {
            assert_eq!(self.commit_one(self.mapped(id, &leased)).await, Ok(()));
        }
    }

    /// Brings a study to which all has come to its answers.
    pub(crate) async fn bring_to_answers(&self, id: StudyId) {
        let taken = self.study(id).await.taken;
        self.complete(id, taken).await.expect("it is complete");
        self.map_all_if_any(id).await;
        let leased = self.lease_analysis().await;
        assert_eq!(self.commit_one(self.answered(id, &leased)).await, Ok(()));
    }

    async fn map_all_if_any(&self, id: StudyId) {
        if self.study(id).await.waiting_bytes > 0 {
            self.map_all(id).await;
        }
    }

    pub(crate) async fn answer(&self, id: StudyId, name: &str) -> Option<String> {
        let body = self.analyze.answer(id, name).await.expect("the store answers");
        body.map(|body| String::from_utf8(body).expect("text"))
    }

    /// What subscribers were told of studies, in order: state and reason.
    pub(crate) async fn told(&self) -> Vec<(String, Option<String>)> {
        let own = self.notify.own_events(100).await.expect("lists");
        let read = |body: &[u8]| {
            let body: Value = serde_json::from_slice(body).expect("JSON");
            let text = |name: &str| body[name].as_str().map(str::to_owned);
            (text("state").expect("a state"), text("why"))
        };
        own.iter().filter(|event| event.kind == malla_analyze::FINISHED).map(|event| read(&event.body)).collect()
    }

    /// Sweeps to the end. Returns how many rows went or changed.
    pub(crate) async fn sweep(&self, keep: Keep) -> u64 {
        let mut all = 0;
        for _ in 0..1_000 {
            match self.analyze.sweep(keep).await.expect("sweeps") {
                0 => return all,
                some => all += some,
            }
        }
        panic!("sweeping never ends");
    }
}
