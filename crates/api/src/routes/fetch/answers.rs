//! The answers of a job as they come.

use std::collections::VecDeque;

use malla_fetch::{Answered, JobId};
use malla_queue::{Arrivals, Scope};

use crate::App;
use crate::problem::Refusal;

/// Answers that are read at a time: their bodies are in memory together.
const STEP: usize = 32;

/// Follows a job from an answer on.
pub(super) struct Follow {
    app: App,
    job: JobId,
    after: u64,
    ready: VecDeque<Answered>,
    signal: Arrivals,
    ended: bool,
}

impl Follow {
    pub(super) fn new(app: App, job: JobId, after: u64) -> Self {
        let signal = app.fetch.answered();
        Self { app, job, after, ready: VecDeque::new(), signal, ended: false }
    }

    /// The next answer if it is there; `None` if nothing more is there now.
    pub(super) async fn now(&mut self) -> Result<Option<Answered>, Refusal> {
        if self.ready.is_empty() && !self.ended {
            self.signal.mark_unchanged();
            // Before the answers, so that none can come in between unseen.
            let job = self.app.fetch.job(&Scope::All, self.job).await?;
            let answers = self.app.fetch.answers(self.job, self.after, STEP).await?;
            self.ended = answers.is_empty() && job.is_over();
            super::limits::count_bytes(&self.app, job.group, &answers).await;
            self.ready.extend(answers);
        }
        let next = self.ready.pop_front();
        if let Some(next) = &next {
            self.after = next.n;
        }
        Ok(next)
    }

    /// The next answer, however long it takes; `None` when there are no more, or the server comes to its end.
    pub(super) async fn next(&mut self) -> Result<Option<Answered>, Refusal> {
        loop {
            if let Some(answer) = self.now().await? {
                return Ok(Some(answer));
            }
            if self.ended || (self.app.ready)().is_err() {
                return Ok(None);
            }
            // The signal may come from another node, or not at all when the store was away.
            let _ = tokio::time::timeout(std::time::Duration::from_secs(1), self.signal.changed()).await;
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.ended
    }
}
