//! The signals by which waiting workers learn that something may be ready.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use malla_queue::Arrivals;
use tokio::sync::watch;

/// One signal a room; rooms are few and fixed.
#[derive(Default)]
pub(crate) struct Signals {
    rooms: Mutex<HashMap<String, watch::Sender<u64>>>,
}

impl Signals {
    pub(crate) fn subscribe(&self, room: &str) -> Arrivals {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.entry(room.to_owned()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Rouses whoever waits for this room; nobody listening costs nothing.
    pub(crate) fn rouse(&self, room: &str) {
        let rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signal) = rooms.get(room) {
            signal.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Rouses everybody: after a lost connection nobody knows what was missed.
    pub(crate) fn rouse_all(&self) {
        for signal in self.rooms.lock().unwrap_or_else(PoisonError::into_inner).values() {
            signal.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}
