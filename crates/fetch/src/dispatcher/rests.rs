//! Devices that get no answer from anybody are rested: their network is down, not the sites.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use malla_queue::UnixMs;

use crate::DeviceId;

/// Pages without an answer in a row after which a device rests.
const FAILURES_MAX: u32 = 20;
/// Its first rest, which doubles with each further one.
const REST_MS: u64 = 30_000;
const REST_MS_MAX: u64 = 600_000;
/// Devices that are watched.
const DEVICES_MAX: usize = 10_000;
/// When a device without a place comes back.
const COME_BACK_MS: std::ops::Range<u64> = 5_000..30_000;

#[derive(Debug, Clone, Copy, Default)]
struct Watch {
    failures: u32,
    rests: u32,
    until: Option<UnixMs>,
}

#[derive(Default)]
pub(super) struct Rests(Mutex<HashMap<DeviceId, Watch>>);

impl Rests {
    fn lock(&self) -> MutexGuard<'_, HashMap<DeviceId, Watch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the device still rests.
    pub(super) fn left_ms(&self, device: DeviceId, now: UnixMs) -> Option<u64> {
        let until = self.lock().get(&device)?.until?;
        u64::try_from(until.0 - now.0).ok().filter(|left| *left > 0)
    }

    /// Learns from a page the device brought.
    pub(super) fn note(&self, device: DeviceId, failed: bool, now: UnixMs) {
        let mut all = self.lock();
        if !failed {
            all.remove(&device);
            return;
        }
        if all.len() >= DEVICES_MAX {
            all.clear();
        }
        let watch = all.entry(device).or_default();
        watch.failures += 1;
        if watch.failures >= FAILURES_MAX {
            let rest_ms = (REST_MS << watch.rests.min(8)).min(REST_MS_MAX);
            watch.until = Some(now.plus(std::time::Duration::from_millis(rest_ms)));
            watch.rests += 1;
            watch.failures = 0;
        }
    }
}

/// A random while, so that those sent away do not come back together.
pub(super) fn some_time_ms() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness they come back together.
    let _ = getrandom::fill(&mut bytes);
    COME_BACK_MS.start + u64::from_le_bytes(bytes) % (COME_BACK_MS.end - COME_BACK_MS.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_reaches_nobody_rests_longer_each_time() {
        let (rests, device) = (Rests::default(), DeviceId(1));
        let mut now = UnixMs(1_000);
        for expected in [30_000, 60_000, 120_000] {
            (0..FAILURES_MAX).for_each(|_| rests.note(device, true, now));
            assert_eq!(rests.left_ms(device, now), Some(expected));
            now = now.plus(std::time::Duration::from_millis(expected));
            assert_eq!(rests.left_ms(device, now), None);
        }
        rests.note(device, false, now);
        (1..FAILURES_MAX).for_each(|_| rests.note(device, true, now));
        assert_eq!(rests.left_ms(device, now), None, "one good page and it starts anew");
    }

    #[test]
    fn those_sent_away_come_back_after_five_to_thirty_seconds() {
        assert!((0..100).all(|_| COME_BACK_MS.contains(&some_time_ms())));
    }
}
