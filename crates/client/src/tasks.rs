//! Tasks and lanes.

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use malla_protocol::{
    AllQuery, Bulk, Counts, LaneChange, LaneQuery, LaneView, Page, PageQuery, SubmitTasks, Submitted, TaskDetail,
    TaskQuery, TaskView,
};
use reqwest::{Method, Response};
use serde::Serialize;

use crate::error::{Error, Result, reason};
use crate::events::Events;
use crate::transport::{Client, place};

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
    fn segment(self) -> &'static str {
        match self {
            Verb::Resend => "retry",
            Verb::Discard => "discard",
            Verb::Pause => "pause",
            Verb::Resume => "resume",
            Verb::Confirm => "confirm",
        }
    }
}

/// Tasks as they appear and change state. It ends when the server stops.
pub type Tail = BoxStream<'static, Result<TaskView>>;

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
        self.act_at(Method::POST, &["api", "v1", "tasks", id, verb.segment()], &()).await
    }

    /// One request's worth; while the answer says `more`, ask again. An empty query means every task there is;
    /// [`Verb::Resend`] takes those that failed unless the query names states.
    /// `from` is the `next_cursor` of the step before, if there was one.
    pub async fn act_on_all(&self, query: &TaskQuery, verb: Verb, from: Option<String>) -> Result<Bulk> {
        let page = &AllQuery { all: (*query == TaskQuery::default()).then_some(true), cursor: from };
        self.act_at(Method::POST, &["api", "v1", "tasks", verb.segment()], &Listed { query, page }).await
    }

    /// What matches from now on. When this returns, watching has begun.
    pub async fn tail(&self, query: &TaskQuery) -> Result<Tail> {
        let response = self.open(&["api", "v1", "tasks", "tail"], query).await?;
        let watching = (response, Events::default(), false);
        let tasks = unfold(watching, |(mut response, mut events, ended)| async move {
            if ended {
                return None;
            }
            let next = next_task(&mut response, &mut events).await?;
            let ended = next.is_err();
            Some((next, (response, events, ended)))
        });
        Ok(tasks.boxed())
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

async fn next_task(response: &mut Response, events: &mut Events) -> Option<Result<TaskView>> {
    let server = place(response.url());
    loop {
        while let Some(event) = events.next() {
            if event.name == "task" {
                let task = serde_json::from_str(&event.data);
                return Some(task.map_err(|error| Error::Protocol(format!("{server} sent a task unread: {error}"))));
            }
        }
        match response.chunk().await {
            Ok(None) => return None,
            Ok(Some(bytes)) if events.push(&bytes) => {}
            Ok(Some(_)) => return Some(Err(Error::Protocol(format!("{server} sent an endless line")))),
            Err(error) => return Some(Err(Error::Unreachable(server, reason(&error)))),
        }
    }
}
