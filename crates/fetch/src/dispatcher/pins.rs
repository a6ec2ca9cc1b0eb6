//! Pages that wait for a device of a certain place. They stay apart from the lanes until such a device asks for work, so that
//! nobody else meets them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use malla_queue::{Arrivals, LaneSettings, UnixMs};

use crate::compare::{fits, place_of_device};
use crate::{Device, DeviceId, Fetch, NOT_ASKED, PageTask, Ready, Settled, Site, Trouble, TroubleKind};

use super::judge::Case;

/// What waits is looked at when something was announced, and after this long all the same.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Pages that one device takes at once.
const TAKEN_MAX: usize = 64;
/// A device for which pages wait looks for them this often.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// It has its pages in a lane for this long before it looks for others.
const REMEMBERED: Duration = Duration::from_secs(30);
/// One that another device met goes back for this long.
const BACK_FOR: Duration = Duration::from_millis(200);

pub(super) struct Pins(Mutex<Known>);

struct Known {
    looked_at: UnixMs,
    places: HashSet<String>,
    signal: Arrivals,
    /// How often something was announced, and how often when the newest look began.
    announced: u64,
    looked: u64,
    /// Sites in whose lanes pages wait for a device, and until when it remembers that.
    moved: HashMap<DeviceId, (UnixMs, Vec<Site>)>,
}

/// What waits for a device.
#[derive(Default)]
pub(super) struct Here {
    /// In the lanes of these sites.
    pub(super) sites: Vec<Site>,
    /// When to look again.
    pub(super) again: Option<UnixMs>,
}

impl Pins {
    pub(super) fn new(signal: Arrivals) -> Self {
        Self(Mutex::new(Known {
            looked_at: UnixMs(i64::MIN),
            places: HashSet::new(),
            signal,
            announced: 0,
            looked: 0,
            moved: HashMap::new(),
        }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is time to look; then, how often something was announced until now. What was announced is looked for by
    /// everybody until a look that began after that has ended.
    fn is_due(&self, now: UnixMs) -> Option<u64> {
        let mut known = self.lock();
        if known.signal.has_changed().unwrap_or(false) {
            known.signal.mark_unchanged();
            known.announced += 1;
        }
        let old = now < known.looked_at || known.looked_at.until(now) >= LOOK_AGAIN;
        (old || known.looked != known.announced).then_some(known.announced)
    }

    fn looked(&self, announced: u64, now: UnixMs, places: HashSet<String>) {
        let mut known = self.lock();
        if announced >= known.looked {
            (known.looked, known.looked_at, known.places) = (announced, now, places);
        }
    }

    /// Puts what waits for this device into the lanes of its sites, if those are free.
    pub(super) async fn take(
        &self,
        fetch: &dyn Fetch,
        device: &Device,
        lanes: LaneSettings,
        now: UnixMs,
    ) -> malla_queue::Result<Here> {
        if let Some(announced) = self.is_due(now) {
            self.looked(announced, now, fetch.pinned_places().await?.into_iter().collect());
        }
        let own = device.about.country.clone().into_iter().chain([place_of_device(device.id)]);
        let places: Vec<String> = {
            let known = self.lock();
            own.filter(|place| known.places.contains(place)).collect()
        };
        let new =
            if places.is_empty() { Vec::new() } else { fetch.take_pins(places.clone(), lanes, TAKEN_MAX).await? };
        let mut known = self.lock();
        known.moved.retain(|_, (until, _)| *until > now);
        if !new.is_empty() {
            let moved = known.moved.entry(device.id).or_insert_with(|| (now, Vec::new()));
            moved.0 = now.plus(REMEMBERED);
            moved.1.extend(new);
            moved.1.sort();
            moved.1.dedup();
        }
        let sites = known.moved.get(&device.id).map(|(_, sites)| sites.clone()).unwrap_or_default();
        let again = (!places.is_empty() || !sites.is_empty()).then(|| now.plus(LOOK_EVERY));
        Ok(Here { sites, again })
    }
}

/// A page that is not for this device goes back; one whose time is over is answered for.
pub(super) fn not_here(task: &PageTask, device: &Device, case: &Case<'_>) -> Option<Settled> {
    let pin = task.pin.as_ref()?;
    if pin.deadline <= case.now {
        let note = format!("no device of {} took it in time", pin.place);
        return Some(case.refuse(NOT_ASKED, Trouble { what: TroubleKind::Refused, note }));
    }
    if fits(&pin.place, device) {
        return None;
    }
    let mut settled = case.release("it waits for a device of another place");
    settled.ending.run_at = Some(case.now.plus(BACK_FOR));
    Some(settled)
}

/// Sites with pages for this very device come first, if they are ready.
pub(super) fn first(chosen: Vec<Ready>, pinned: &[Ready]) -> Vec<Ready> {
    let rest = chosen.into_iter().filter(|ready| !pinned.iter().any(|first| first.site == ready.site));
    pinned.iter().cloned().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_announced_is_looked_for_by_all_until_somebody_has_seen_it() {
        let (announce, signal) = tokio::sync::watch::channel(0);
        let (pins, now) = (Pins::new(signal), UnixMs(1_000));
        let look = |announced| pins.looked(announced, now, HashSet::from(["AR".to_owned()]));
        let first = pins.is_due(now).expect("nobody has looked yet");
        look(first);
        assert_eq!(pins.is_due(now), None, "a moment ago");
        announce.send_replace(1);
        let one = pins.is_due(now).expect("something was announced");
        assert_eq!(pins.is_due(now), Some(one), "another one must not rely on what was known before");
        look(first);
        assert_eq!(pins.is_due(now), Some(one), "that look began before");
        look(one);
        assert_eq!(pins.is_due(now), None);
        announce.send_replace(2);
        let two = pins.is_due(now).expect("again");
        pins.looked(two, now, HashSet::new());
        look(one);
        assert!(pins.lock().places.is_empty(), "a late answer does not undo a newer one");
        assert!(pins.is_due(now.plus(LOOK_AGAIN)).is_some(), "after a while all the same");
    }
}
