//! Tasks and lanes.

use malla_protocol::{
    AllQuery, Bulk, Counts, LaneChange, LaneQuery, LaneView, Page, PageQuery, SubmitTasks, Submitted, TaskDetail,
    TaskQuery, TaskView,
};
use reqwest::Method;
use serde::Serialize;

use crate::error::Result;
use crate::tail::{Tail, follow};
use crate::transport::Client;

/// What a person does to tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Send it again: what is also called retry.
    Resend,
    Discard,
    Pause,
    Resume,
    Confirm,
}

impl Verb {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Resend => "resend",
            Verb::Discard => "discard",
            Verb::Pause => "pause",
            Verb::Resume => "resume",
            Verb::Confirm => "confirm",
        }
    }
}

impl Client {
    /// Newest first.
    pub async fn tasks(&self, query: &TaskQuery, page: &PageQuery) -> Result<Page<TaskView>> {
        self.get(&["api", "v1", "tasks"], &Listed { query, page }).await
    }

    pub async fn task(&self, id: &str) -> Result<TaskDetail> {
        self.get(&["api", "v1", "tasks", id], &()).await
    }

    pub async fn counts(&self) -> Result<Counts> {
        self.get(&["api", "v1", "tasks", "counts"], &()).await
    }

    /// All or none. When this returns they survive a crash of the server.
    pub async fn submit(&self, tasks: &SubmitTasks) -> Result<Submitted> {
        self.write(Method::POST, &["api", "v1", "tasks"], tasks).await
    }

    pub async fn act(&self, id: &str, verb: Verb) -> Result<TaskView> {
        self.act_at(Method::POST, &["api", "v1", "tasks", id, verb.name()], &()).await
    }

    /// One request's worth; while the answer says `more`, ask again. An empty query means every task there is;
    /// [`Verb::Resend`] takes those that failed unless the query names states.
    /// `from` is the `next_cursor` of the step before, if there was one.
    pub async fn act_on_all(&self, query: &TaskQuery, verb: Verb, from: Option<String>) -> Result<Bulk> {
        let page = &AllQuery { all: (*query == TaskQuery::default()).then_some(true), cursor: from };
        self.act_at(Method::POST, &["api", "v1", "tasks", verb.name()], &Listed { query, page }).await
    }

    /// What matches from now on. When this returns, watching has begun.
    pub async fn tail(&self, query: &TaskQuery) -> Result<Tail> {
        Ok(follow(self.open(&["api", "v1", "tasks", "tail"], query).await?, "task"))
    }

    /// In the order of their keys.
    pub async fn lanes(&self, query: &LaneQuery, page: &PageQuery) -> Result<Page<LaneView>> {
        self.get(&["api", "v1", "lanes"], &Listed { query, page }).await
    }

    pub async fn lane(&self, key: &str) -> Result<LaneView> {
        self.get(&["api", "v1", "lanes", key], &()).await
    }

    pub async fn change_lane(&self, key: &str, change: &LaneChange) -> Result<LaneView> {
        self.write(Method::PATCH, &["api", "v1", "lanes", key], change).await
    }
}

/// Two sets of parameters in one query string.
#[derive(Serialize)]
pub(crate) struct Listed<'a, Q, P> {
    #[serde(flatten)]
    pub(crate) query: &'a Q,
    #[serde(flatten)]
    pub(crate) page: &'a P,
}
