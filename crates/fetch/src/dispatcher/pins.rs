//! Pages that wait for a device of a certain place. They stay apart from the lanes until such a device asks for work, so that
//! nobody else meets them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use malla_queue::{LaneSettings, UnixMs};

use crate::compare::{fits, place_of_device};
use crate::{Device, Fetch, NOT_ASKED, PageTask, Ready, Settled, Site, Trouble, TroubleKind};

use super::judge::Case;

/// What waits is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Pages that one device takes at once.
const TAKEN_MAX: usize = 64;
/// One that another device met goes back for this long.
const BACK_FOR: Duration = Duration::from_millis(200);

#[derive(Default)]
pub(super) struct Pins(Mutex<(UnixMs, HashSet<String>)>);

impl Pins {
    /// Puts what waits for this device into the lanes of its sites. Returns the sites.
    pub(super) async fn take(
        &self,
        fetch: &dyn Fetch,
        device: &Device,
        lanes: LaneSettings,
        now: UnixMs,
    ) -> malla_queue::Result<Vec<Site>> {
        let looked_at = self.0.lock().unwrap_or_else(PoisonError::into_inner).0;
        if looked_at.until(now) >= LOOK_EVERY || now < looked_at {
            let places = fetch.pinned_places().await?;
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (now, places.into_iter().collect());
        }
        let places: Vec<String> = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let own = device.about.country.clone().into_iter().chain([place_of_device(device.id)]);
            own.filter(|place| known.1.contains(place)).collect()
        };
        if places.is_empty() {
            return Ok(Vec::new());
        }
        fetch.take_pins(places, lanes, TAKEN_MAX).await
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
