//! Which of the sites that are ready a device gets. How fast a site may be asked is not decided here: it is not ready
//! before its time, and one device at a time has it.

mod centroids;
mod country;
pub mod world;

#[cfg(test)]
mod cases;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use malla_queue::{Error, UnixMs};

pub use country::Country;

/// Under `democratic`, a device may be ahead of the mean by so many pages.
const AHEAD_MAX: u64 = 16;
/// A site that has waited for longer gets its turn whatever the strategy prefers.
const PATIENCE: Duration = Duration::from_secs(30);
/// Of so many sites, one is the one that has waited longest.
const TURN_OF_OLDEST: usize = 4;
/// A site is not left to a better device for longer: that one may have gone.
const LEFT_TO_OTHERS: Duration = Duration::from_secs(2);
/// One site makes no more of a block than this part. A long run keeps its site from a better device, and fills the
/// hands of this one with pages that wait for their time.
const PART_OF_BLOCK: usize = 4;
/// What a page takes as far as nobody has measured it: the site's own time, and three times there and back.
const GUESS_MS: u64 = 200;
const WAY_MS_PER_1000_KM: u64 = 45;
const KM_UNKNOWN: u32 = 8_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// Everyone the same total.
    Democratic,
    /// Who is free takes, from the longest queue.
    LessBusy,
    /// The nearest to the site; who has nothing near takes from the nearest.
    Geography,
    /// What takes longest first, and to whom it takes least.
    #[default]
    Adaptive,
}

impl Strategy {
    pub const ALL: [Strategy; 4] = [Strategy::Democratic, Strategy::LessBusy, Strategy::Geography, Strategy::Adaptive];

    pub fn name(self) -> &'static str {
        match self {
            Strategy::Democratic => "democratic",
            Strategy::LessBusy => "less_busy",
            Strategy::Geography => "geography",
            Strategy::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == text).ok_or_else(|| {
            Error::Invalid(format!("\"{text}\" is not a strategy: choose democratic, less_busy, geography or adaptive"))
        })
    }
}

/// A site that may be asked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadySite {
    /// When it became ready.
    pub waiting_since: UnixMs,
    /// How many of its tasks wait. Counting may stop at some number.
    pub tasks: usize,
    pub gap_ms: u64,
    pub country: Option<Country>,
    /// The mean time of its pages as devices of some countries saw it.
    pub page_ms: Vec<(Country, u64)>,
}

/// A device that asks for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceView {
    /// Pages it was given in all. A newcomer starts with the mean of the others, or it would have to catch up with them.
    pub given: u64,
    /// Pages it has and has not brought back.
    pub in_hand: usize,
    pub country: Option<Country>,
    /// How much longer its pages take than those of others at its place, on the mean; less than 0 if they are quicker.
    pub slower_ms: i64,
}

/// All devices that take part now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FleetView {
    pub now: UnixMs,
    /// Of their totals, counted as in [`DeviceView::given`].
    pub mean_given: u64,
    /// Where they are, each country once.
    pub places: Vec<Country>,
    /// Those who ask for work at this moment, the one in question apart.
    pub asking: Vec<DeviceView>,
}

impl FleetView {
    /// Devices with nothing in hand.
    fn idle(&self) -> usize {
        self.asking.iter().filter(|device| device.in_hand == 0).count()
    }
}

/// Pages of one site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Its index among the sites that were ready.
    pub site: usize,
    pub pages: usize,
}

/// What the device gets, of `pages` at most. The order is that of preference.
pub fn choose(
    strategy: Strategy,
    device: &DeviceView,
    sites: &[ReadySite],
    pages: usize,
    fleet: &FleetView,
) -> Vec<Share> {
    let (preferred, pages) = match strategy {
        Strategy::Democratic => (oldest_first(sites), pages.min(still_due(device, fleet))),
        Strategy::LessBusy => (longest_first(device, sites, fleet), pages),
        Strategy::Geography => (nearest_first(device, sites, fleet), pages),
        Strategy::Adaptive => (most_urgent_first(device, sites, fleet), pages),
    };
    deal(&with_turns_of_oldest(preferred, sites, fleet.now), sites, pages)
}

fn oldest_first(sites: &[ReadySite]) -> Vec<usize> {
    sorted(sites, |site| site.waiting_since)
}

/// How many pages the device may take until it is too far ahead of the others.
fn still_due(device: &DeviceView, fleet: &FleetView) -> usize {
    let due = fleet.mean_given.saturating_add(AHEAD_MAX).saturating_sub(device.given);
    usize::try_from(due).unwrap_or(usize::MAX)
}

/// Those who have nothing in hand share the sites evenly. Who is at work leaves them the longest queues.
fn longest_first(device: &DeviceView, sites: &[ReadySite], fleet: &FleetView) -> Vec<usize> {
    let order = sorted(sites, |site| (Reverse(site.tasks), site.waiting_since));
    if device.in_hand > 0 {
        return order.into_iter().skip(fleet.idle()).collect();
    }
    let share = sites.len().div_ceil(fleet.idle() + 1);
    order.into_iter().take(share).collect()
}

/// First the sites to which no device is nearer. Who has none of these and nothing in hand takes the nearest whose own
/// devices are all at work.
fn nearest_first(device: &DeviceView, sites: &[ReadySite], fleet: &FleetView) -> Vec<usize> {
    let km_from = |from: Option<Country>, site: &ReadySite| from?.km_to(site.country?);
    let nearer = |site: &ReadySite, places: &BTreeSet<Country>| {
        let own = km_from(device.country, site);
        places.iter().filter_map(|place| km_from(Some(*place), site)).any(|km| own.is_none_or(|own| km < own))
    };
    let by_distance = sorted(sites, |site| (km_from(device.country, site).unwrap_or(u32::MAX), site.waiting_since));
    let all = fleet.places.iter().copied().collect();
    let own: Vec<_> = by_distance.iter().copied().filter(|index| !nearer(&sites[*index], &all)).collect();
    if !own.is_empty() || device.in_hand > 0 {
        return own;
    }
    let free = fleet.asking.iter().filter_map(|device| device.country).collect();
    by_distance.into_iter().filter(|index| !nearer(&sites[*index], &free)).collect()
}

/// The site with most to do decides when everything is done, so it must not wait. Among sites with about as much to do,
/// the device takes those that are quickest for it. What is quicker for another one that asks is left to that one.
fn most_urgent_first(device: &DeviceView, sites: &[ReadySite], fleet: &FleetView) -> Vec<usize> {
    let others = quickest_of_each_place(&fleet.asking);
    let left_to_others = |site: &ReadySite| {
        let own_ms = expected_ms(site, device);
        site.waiting_since.until(fleet.now) < LEFT_TO_OTHERS
            && others.iter().any(|other| expected_ms(site, other) < own_ms)
    };
    let mut order = sorted(sites, |site| {
        let best_ms = site.page_ms.iter().map(|(_, ms)| *ms).min().unwrap_or(GUESS_MS);
        let left_ms = (site.tasks as u64).saturating_mul(site.gap_ms.saturating_add(best_ms));
        (Reverse(about(left_ms)), expected_ms(site, device), site.waiting_since)
    });
    order.retain(|index| !left_to_others(&sites[*index]));
    order
}

/// The same for numbers that are within a half of each other or so.
fn about(number: u64) -> u32 {
    let log = (number | 2).ilog2();
    2 * log + u32::from((number >> (log - 1)) & 1 == 1)
}

fn quickest_of_each_place(devices: &[DeviceView]) -> Vec<DeviceView> {
    let mut quickest: BTreeMap<Option<Country>, DeviceView> = BTreeMap::new();
    for device in devices {
        let best = quickest.entry(device.country).or_insert(*device);
        if device.slower_ms < best.slower_ms {
            *best = *device;
        }
    }
    quickest.into_values().collect()
}

/// How long a page of the site takes the device: as measured from its country, else by the distance.
fn expected_ms(site: &ReadySite, device: &DeviceView) -> u64 {
    let measured = site.page_ms.iter().find(|(country, _)| device.country == Some(*country));
    let ms = measured.map_or_else(|| site_ms(site) + way_ms(device.country, site), |(_, ms)| *ms);
    ms.saturating_add_signed(device.slower_ms)
}

/// What the site takes wherever one is: the mean of what was measured, without the ways.
fn site_ms(site: &ReadySite) -> u64 {
    let without_way = |(country, ms): &(Country, u64)| ms.saturating_sub(way_ms(Some(*country), site));
    let total: u64 = site.page_ms.iter().map(without_way).sum();
    total.checked_div(site.page_ms.len() as u64).unwrap_or(GUESS_MS)
}

fn way_ms(from: Option<Country>, site: &ReadySite) -> u64 {
    let km = from.zip(site.country).and_then(|(from, to)| from.km_to(to)).unwrap_or(KM_UNKNOWN);
    u64::from(km) * WAY_MS_PER_1000_KM / 1_000
}

fn sorted<K: Ord>(sites: &[ReadySite], key: impl Fn(&ReadySite) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_by_cached_key(|index| key(&sites[*index]));
    order
}

/// Now and then a site that nobody prefers, if it has waited for long.
fn with_turns_of_oldest(preferred: Vec<usize>, sites: &[ReadySite], now: UnixMs) -> Vec<usize> {
    let overdue = |index: &usize| sites[*index].waiting_since.until(now) > PATIENCE;
    let mut oldest = oldest_first(sites).into_iter().filter(overdue).peekable();
    if oldest.peek().is_none() {
        return preferred;
    }
    let (mut order, mut taken) = (Vec::new(), BTreeSet::new());
    let mut preferred = preferred.into_iter();
    loop {
        let next = if order.len().is_multiple_of(TURN_OF_OLDEST) {
            oldest.next().or_else(|| preferred.next())
        } else {
            preferred.next().or_else(|| oldest.next())
        };
        let Some(index) = next else { return order };
        if taken.insert(index) {
            order.push(index);
        }
    }
}

/// A page of each, then a second one of each: the wider the pages are spread, the less they wait for each other.
fn deal(order: &[usize], sites: &[ReadySite], pages: usize) -> Vec<Share> {
    let mut shares: Vec<Share> = order.iter().take(pages).map(|site| Share { site: *site, pages: 0 }).collect();
    let mut left = pages;
    for round in 0..pages.div_ceil(PART_OF_BLOCK) {
        for share in shares.iter_mut().filter(|share| sites[share.site].tasks > round).take(left) {
            share.pages += 1;
            left -= 1;
        }
    }
    shares.retain(|share| share.pages > 0);
    shares
}
