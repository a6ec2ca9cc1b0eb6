//! Batches that have just come in, so that whoever maps them in the same process need not read and unpack them again.
//!
//! While there is no room, who brings a batch waits a little: batches that come faster than they are mapped would have to
//! be read again, and that makes both slower.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::buffer::Buffer;
use crate::study::{BatchHash, StudyId};

/// What is not fetched for so long is mapped elsewhere, or much later: it makes room for others.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Room is counted in pieces of so many bytes.
const PIECE: usize = 1_024;

type Key = (StudyId, BatchHash);

/// Up to so many bytes.
pub struct Recent {
    kept: Mutex<Kept>,
    room: Arc<Semaphore>,
    pieces_max: usize,
}

#[derive(Default)]
struct Kept {
    batches: HashMap<Key, (Arc<Buffer>, OwnedSemaphorePermit)>,
    order: VecDeque<Key>,
}

impl Recent {
    pub fn new(bytes_max: usize) -> Self {
        let pieces_max = (bytes_max / PIECE).min(Semaphore::MAX_PERMITS);
        Self { kept: Mutex::default(), room: Arc::new(Semaphore::new(pieces_max)), pieces_max }
    }

    /// Keeps a batch, if it fits at all.
    pub async fn put(&self, study: StudyId, hash: BatchHash, batch: Arc<Buffer>) {
        let pieces = batch.len().div_ceil(PIECE);
        if pieces > self.pieces_max {
            return;
        }
        let Some(room) = self.make_room(u32::try_from(pieces).unwrap_or(u32::MAX)).await else { return };
        let mut kept = self.kept();
        let key = (study, hash);
        if kept.batches.insert(key, (batch, room)).is_none() {
            kept.order.push_back(key);
        }
    }

    pub fn take(&self, study: StudyId, hash: BatchHash) -> Option<Arc<Buffer>> {
        let mut kept = self.kept();
        let (batch, _room) = kept.batches.remove(&(study, hash))?;
        kept.order.retain(|key| *key != (study, hash));
        Some(batch)
    }

    async fn make_room(&self, pieces: u32) -> Option<OwnedSemaphorePermit> {
        let room = || self.room.clone().acquire_many_owned(pieces);
        if let Ok(room) = tokio::time::timeout(WAIT_MAX, room()).await {
            return room.ok();
        }
        loop {
            if let Ok(room) = self.room.clone().try_acquire_many_owned(pieces) {
                return Some(room);
            }
            let mut kept = self.kept();
            let oldest = kept.order.pop_front()?;
            kept.batches.remove(&oldest);
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::TaskId;

    use super::*;

    const STUDY: StudyId = StudyId(TaskId(1));

    fn hash(n: u8) -> BatchHash {
        BatchHash([n; 32])
    }

    async fn put(recent: &Recent, n: u8, pieces: usize) {
        recent.put(STUDY, hash(n), Arc::new(vec![n; pieces * PIECE].into())).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_fetches_makes_room_for_others() {
        let recent = Recent::new(10 * PIECE);
        for n in 1..=3 {
            put(&recent, n, 4).await;
        }
        put(&recent, 9, 11).await;
        assert!(recent.take(STUDY, hash(1)).is_none());
        assert!(recent.take(STUDY, hash(9)).is_none());
        assert_eq!(recent.take(STUDY, hash(2)).unwrap()[..], [2; 4 * PIECE]);
        assert!(recent.take(STUDY, hash(2)).is_none());
        put(&recent, 3, 4).await;
        assert_eq!(recent.room.available_permits(), 6, "the same batch again takes no more room");
        assert!(recent.take(STUDY, hash(3)).is_some());
        assert_eq!((recent.room.available_permits(), recent.kept().order.len()), (10, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_brings_one_too_many_waits_for_one_to_be_fetched() {
        let recent = Arc::new(Recent::new(10 * PIECE));
        put(&recent, 1, 8).await;
        let (began, other) = (tokio::time::Instant::now(), recent.clone());
        let waiting = tokio::spawn(async move { put(&other, 2, 8).await });
        tokio::time::sleep(WAIT_MAX / 5).await;
        assert!(recent.take(STUDY, hash(1)).is_some());
        waiting.await.unwrap();
        assert_eq!(began.elapsed(), WAIT_MAX / 5);
        assert!(recent.take(STUDY, hash(2)).is_some());
    }
}
