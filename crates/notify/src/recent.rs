//! Events that have just come in, in memory, so that their first delivery need not read them back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use malla_queue::EventId;

use crate::Event;

/// Bounded by count and by bytes; ids sort by age, and the oldest gives way.
pub struct RecentEvents {
    count_max: usize,
    bytes_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    events: BTreeMap<EventId, Arc<Event>>,
    bytes: usize,
}

impl Default for RecentEvents {
    fn default() -> Self {
        Self::new(10_000, 64 * 1024 * 1024)
    }
}

impl RecentEvents {
    pub fn new(count_max: usize, bytes_max: usize) -> Self {
        Self { count_max, bytes_max, kept: Mutex::default() }
    }

    pub fn put(&self, event: Event) {
        let mut kept = self.lock();
        kept.bytes += size(&event);
        if let Some(before) = kept.events.insert(event.id, Arc::new(event)) {
            kept.bytes -= size(&before);
        }
        while kept.events.len() > self.count_max || kept.bytes > self.bytes_max {
            let Some((_, oldest)) = kept.events.pop_first() else { break };
            kept.bytes -= size(&oldest);
        }
    }

    pub fn get(&self, id: EventId) -> Option<Arc<Event>> {
        self.lock().events.get(&id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About what an event takes in memory.
fn size(event: &Event) -> usize {
    let headers: usize = event.content.headers.iter().map(|(name, value)| name.len() + value.len() + 64).sum();
    event.content.body.len() + headers + event.content.query.as_ref().map_or(0, String::len) + 256
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EndpointId, NewEvent};

    fn event(id: i64, bytes: usize) -> Event {
        Event {
            id: EventId(id),
            endpoint: EndpointId(1),
            endpoint_name: "a".into(),
            group: None,
            kind: None,
            content: NewEvent { body: vec![0; bytes], ..NewEvent::default() },
        }
    }

    #[test]
    fn the_oldest_gives_way() {
        let recent = RecentEvents::new(2, 10_000);
        for id in [3, 1, 2] {
            recent.put(event(id, 10));
        }
        assert!(recent.get(EventId(1)).is_none());
        assert!(recent.get(EventId(2)).is_some() && recent.get(EventId(3)).is_some());
        recent.put(event(4, 9_700));
        assert!(recent.get(EventId(3)).is_none() && recent.get(EventId(4)).is_some());
        recent.put(event(5, 20_000));
        assert!(recent.get(EventId(5)).is_none(), "larger than all of it");
        assert_eq!(recent.lock().bytes, 0);
    }

    #[test]
    fn the_same_event_counts_once() {
        let recent = RecentEvents::default();
        recent.put(event(1, 10));
        recent.put(event(1, 10));
        assert_eq!(recent.lock().bytes, size(&event(1, 10)));
    }
}
