//! Finds the event of a notification: in memory if it is recent, else in the store, many at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use malla_queue::{EventId, Result};
use tokio::sync::oneshot;

use crate::{Event, Notify, RecentEvents};

/// Events read in one call.
const READ_MAX: usize = 32;

type Read = Result<Option<Arc<Event>>>;

pub(super) struct Events {
    notify: Arc<dyn Notify>,
    recent: Arc<RecentEvents>,
    waiting: Mutex<Vec<(EventId, oneshot::Sender<Read>)>>,
    /// Held by who reads for all that wait.
    reading: tokio::sync::Mutex<()>,
}

impl Events {
    pub(super) fn new(notify: Arc<dyn Notify>, recent: Arc<RecentEvents>) -> Self {
        Self { notify, recent, waiting: Mutex::default(), reading: tokio::sync::Mutex::default() }
    }

    /// `None` if it is gone.
    pub(super) async fn get(&self, id: EventId) -> Read {
        if let Some(event) = self.recent.get(id) {
            return Ok(Some(event));
        }
        loop {
            let mut answer = self.ask(id);
            loop {
                tokio::select! {
                    biased;
                    answer = &mut answer => match answer {
                        Ok(answer) => return answer,
                        // Whoever read for us was stopped.
                        Err(_) => break,
                    },
                    _mine = self.reading.lock() => self.read_waiting().await,
                }
            }
        }
    }

    fn ask(&self, id: EventId) -> oneshot::Receiver<Read> {
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((id, answer));
        answered
    }

    async fn read_waiting(&self) {
        let asked: Vec<_> = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.retain(|(_, answer)| !answer.is_closed());
            let take = waiting.len().min(READ_MAX);
            waiting.drain(..take).collect()
        };
        let mut ids: Vec<EventId> = asked.iter().map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return;
        }
        let read = self.notify.events_by_id(&ids).await.map(|events| {
            events.into_iter().map(|event| (event.id, Arc::new(event))).collect::<HashMap<EventId, Arc<Event>>>()
        });
        for (id, answer) in asked {
            let found = read.as_ref().map(|events| events.get(&id).cloned()).map_err(Clone::clone);
            // Who is gone needs no answer.
            let _ = answer.send(found);
        }
    }
}
