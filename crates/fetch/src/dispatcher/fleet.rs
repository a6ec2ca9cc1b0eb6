//! What is remembered of the devices and of how fast sites answer them: what the strategies go by. A memory of this
//! process alone; it fills again after a restart.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use malla_queue::UnixMs;

use crate::{Country, Device, DeviceId, DeviceView, FleetView, OFFLINE_AFTER_MS, Site};

/// Devices that are remembered; beyond it all are forgotten.
const DEVICES_MAX: usize = 10_000;
/// Sites whose times are remembered, over all countries.
const TIMES_MAX: usize = 50_000;

#[derive(Default)]
pub(super) struct Fleet(Mutex<Memory>);

#[derive(Default)]
struct Memory {
    devices: HashMap<DeviceId, Known>,
    /// Moving means, in milliseconds.
    times: HashMap<Site, Vec<(Country, u64)>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    view: DeviceView,
    asking: bool,
    seen_at: UnixMs,
}

/// Says that a device waits for work, until it is dropped.
pub(super) struct Asking<'f> {
    fleet: &'f Fleet,
    device: DeviceId,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(known) = self.fleet.lock().devices.get_mut(&self.device) {
            known.asking = false;
        }
    }
}

impl Fleet {
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn asks(&self, device: &Device, now: UnixMs) -> Asking<'_> {
        let mut memory = self.lock();
        if memory.devices.len() >= DEVICES_MAX {
            memory.devices.clear();
        }
        let given = mean_given(&memory, now);
        let country = device.about.country.as_deref().and_then(|code| code.parse().ok());
        let known = memory.devices.entry(device.id).or_insert(Known {
            view: DeviceView { given, country, ..DeviceView::default() },
            asking: true,
            seen_at: now,
        });
        known.asking = true;
        known.seen_at = now;
        known.view.country = country;
        Asking { fleet: self, device: device.id }
    }

    /// How this device stands, and the others.
    pub(super) fn views(&self, device: DeviceId, now: UnixMs) -> (DeviceView, FleetView) {
        let memory = self.lock();
        let own = memory.devices.get(&device).map(|known| known.view).unwrap_or_default();
        let online = || memory.devices.iter().filter(move |(_, known)| is_online(known, now));
        let mut places: Vec<Country> = online().filter_map(|(_, known)| known.view.country).collect();
        places.sort_unstable();
        places.dedup();
        let asking =
            online().filter(|(id, known)| **id != device && known.asking).map(|(_, known)| known.view).collect();
        (own, FleetView { now, mean_given: mean_given(&memory, now), places, asking })
    }

    /// Whether no other device was heard of late.
    pub(super) fn is_alone(&self, device: DeviceId, now: UnixMs) -> bool {
        self.lock().devices.iter().all(|(id, known)| *id == device || !is_online(known, now))
    }

    pub(super) fn gave(&self, device: DeviceId, pages: usize) {
        if let Some(known) = self.lock().devices.get_mut(&device) {
            known.view.given += pages as u64;
            known.view.in_hand += pages;
        }
    }

    /// The device has these pages no longer.
    pub(super) fn got_back(&self, device: DeviceId, pages: usize) {
        if let Some(known) = self.lock().devices.get_mut(&device) {
            known.view.in_hand = known.view.in_hand.saturating_sub(pages);
        }
    }

    /// A page took this long from where the device is.
    pub(super) fn took(&self, device: DeviceId, site: &Site, took_ms: u64) {
        let mut memory = self.lock();
        let Some(country) = memory.devices.get(&device).and_then(|known| known.view.country) else { return };
        if memory.times.len() >= TIMES_MAX {
            memory.times.clear();
        }
        let times = memory.times.entry(site.clone()).or_default();
        let mean = match times.iter_mut().find(|(place, _)| *place == country) {
            Some((_, mean)) => {
                *mean = (*mean * 7 + took_ms) / 8;
                *mean
            }
            None => {
                times.push((country, took_ms));
                took_ms
            }
        };
        if let Some(known) = memory.devices.get_mut(&device) {
            let difference = i64::try_from(took_ms).unwrap_or(i64::MAX).saturating_sub_unsigned(mean);
            known.view.slower_ms = known.view.slower_ms.saturating_mul(7).saturating_add(difference) / 8;
        }
    }

    pub(super) fn times(&self, site: &Site) -> Vec<(Country, u64)> {
        self.lock().times.get(site).cloned().unwrap_or_default()
    }
}

fn is_online(known: &Known, now: UnixMs) -> bool {
    now.0 - known.seen_at.0 <= OFFLINE_AFTER_MS
}

fn mean_given(memory: &Memory, now: UnixMs) -> u64 {
    let (mut total, mut count) = (0_u64, 0_u64);
    for known in memory.devices.values().filter(|known| is_online(known, now)) {
        total += known.view.given;
        count += 1;
    }
    total.checked_div(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{About, Measures, PageUrl, Tally};

    fn device(id: i64, country: &str) -> Device {
        Device {
            id: DeviceId(id),
            name: id.to_string(),
            owner: "ana".into(),
            group: None,
            about: About { country: Some(country.into()), ..About::default() },
            blocked: false,
            joined_at: UnixMs(0),
            seen_at: UnixMs(0),
            left: false,
            measures: Measures::default(),
            tally: Tally::default(),
        }
    }

    #[test]
    fn a_newcomer_begins_with_the_mean_and_is_seen_while_it_asks() {
        let (fleet, now) = (Fleet::default(), UnixMs(1_000));
        let first = device(1, "DE");
        let asking = fleet.asks(&first, now);
        fleet.gave(first.id, 40);
        let second = device(2, "AR");
        let newcomer = fleet.asks(&second, now);
        let (own, others) = fleet.views(second.id, now);
        assert_eq!((own.given, others.asking.len(), others.places.len()), (40, 1, 2));
        assert!(!fleet.is_alone(second.id, now));
        drop(asking);
        assert_eq!(fleet.views(second.id, now).1.asking.len(), 0);
        drop(newcomer);
        let later = UnixMs(now.0 + OFFLINE_AFTER_MS + 1);
        assert_eq!(fleet.views(second.id, later).1.places.len(), 0, "who was not heard does not count");
        assert!(fleet.is_alone(second.id, later));
    }

    #[test]
    fn the_time_of_a_page_is_remembered_by_place() {
        let (fleet, now, site) =
            (Fleet::default(), UnixMs(0), PageUrl::parse("http://example.org/").expect("a URL").site());
        for (id, country, took) in [(1, "DE", 80), (2, "AR", 400)] {
            let device = device(id, country);
            let _asking = fleet.asks(&device, now);
            fleet.took(device.id, &site, took);
        }
        let mut times: Vec<u64> = fleet.times(&site).into_iter().map(|(_, ms)| ms).collect();
        times.sort_unstable();
        assert_eq!(times, [80, 400]);
    }
}
