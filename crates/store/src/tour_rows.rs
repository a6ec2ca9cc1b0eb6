//! What both stores write and read of tours in the same way.

use std::collections::{BTreeMap, HashMap, HashSet};

use malla_fetch::tour::{Found, Hand, NewTour, Step, Tour, TourChange, TourId, TourKind, TourState, Version};
use malla_fetch::{NewJob, Site, Terms, Trouble, TroubleKind, UrlKey, Wanted};
use malla_queue::{Error, GroupId, LaneSettings, Result, TaskId, UnixMs};

/// Whoever gives out pages that wait for a device of a place listens to this.
pub(crate) const PINS: &str = "fetch-pins";
/// Sites that are asked in one step.
pub(crate) const SITES_A_STEP: i64 = 64;
/// Of what may wait in the house, tours take one part in so many.
const PENDING_SHARE: u64 = 2;
/// A version's text, unpacked, at most.
const TEXT_BYTES_MAX: usize = 16 << 20;

pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

pub(crate) fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

pub(crate) fn not_found(kind: TourKind, id: TourId) -> Error {
    Error::NotFound(format!("{} {id}", kind.noun()))
}

/// A tour's row.
pub(crate) struct TourRow {
    pub(crate) id: i64,
    pub(crate) group: Option<i64>,
    pub(crate) kind: String,
    pub(crate) state: i16,
    pub(crate) spec: String,
    pub(crate) progress: String,
    pub(crate) counts: [i64; 8],
    pub(crate) weight: f64,
    pub(crate) note: Option<String>,
    pub(crate) finished_at: Option<i64>,
}

impl TourRow {
    pub(crate) fn read(self) -> Result<Tour> {
        let damaged = |what: &str| Error::Internal(format!("a stored tour is damaged: its {what}"));
        let [read, asked, sitemaps, found, waiting, trapped, left_out, versions] = self.counts.map(count);
        Ok(Tour {
            id: TourId(TaskId(self.id)),
            kind: TourKind::from_name(&self.kind).ok_or_else(|| damaged("kind"))?,
            group: self.group.map(GroupId),
            state: TourState::from_rank(self.state).ok_or_else(|| damaged("state"))?,
            spec: self.spec,
            progress: self.progress,
            read,
            asked,
            sitemaps,
            found,
            waiting,
            trapped,
            left_out,
            versions,
            weight: self.weight,
            note: self.note,
            finished_at: self.finished_at.map(UnixMs),
        })
    }
}

/// Its numbers in the order of the columns.
pub(crate) fn counts(tour: &Tour) -> [i64; 8] {
    let Tour { read, asked, sitemaps, found, waiting, trapped, left_out, versions, .. } = tour;
    [*read, *asked, *sitemaps, *found, *waiting, *trapped, *left_out, *versions].map(int)
}

/// A tour as it begins.
pub(crate) fn begun(new: &NewTour, id: i64) -> Tour {
    Tour {
        id: TourId(TaskId(id)),
        kind: new.kind,
        group: new.group,
        state: TourState::Running,
        spec: new.spec.clone(),
        progress: new.progress.clone(),
        read: 0,
        asked: 0,
        sitemaps: 0,
        found: 0,
        waiting: 0,
        trapped: 0,
        left_out: 0,
        versions: 0,
        weight: new.weight,
        note: None,
        finished_at: None,
    }
}

/// Refuses one more if too many are not over.
pub(crate) fn there_is_room(kind: TourKind, open: i64) -> Result<()> {
    let limit = malla_fetch::tour::TOURS_MAX;
    if count(open) < limit {
        return Ok(());
    }
    let noun = kind.noun();
    Err(Error::NotAvailable(format!(
        "{limit} of a kind may be under way at once: end a {noun} before you begin another"
    )))
}

/// Brings a tour to its end.
pub(crate) fn end(tour: &mut Tour, state: TourState, note: Option<String>, now: UnixMs) {
    tour.state = state;
    tour.note = note;
    tour.finished_at = Some(now);
}

/// What a change means: `true` if the tour needs its task again.
pub(crate) fn changed(tour: &mut Tour, change: &TourChange, now: UnixMs) -> Result<bool> {
    let Tour { kind, id, state, .. } = *tour;
    if state.is_over() && *change != TourChange::default() && change.state != Some(state) {
        let (noun, state) = (kind.noun(), state.name());
        return Err(Error::Conflict(format!("the {noun} {id} is over ({state}): begin another")));
    }
    if let Some(spec) = &change.spec {
        tour.spec.clone_from(spec);
    }
    match change.state {
        Some(TourState::Paused) => tour.state = TourState::Paused,
        Some(TourState::Running) if state == TourState::Paused => {
            tour.state = TourState::Running;
            return Ok(true);
        }
        Some(TourState::Cancelled) if !state.is_over() => end(tour, TourState::Cancelled, None, now),
        _ => {}
    }
    Ok(false)
}

/// What of the found is new, and may be taken.
#[derive(Default)]
pub(crate) struct Admitted<'f> {
    pub(crate) urls: Vec<(&'f Found, i64)>,
    /// By site, how many.
    pub(crate) sites: BTreeMap<Site, i64>,
    /// Shapes with how many of them there are now.
    pub(crate) shapes: HashMap<UrlKey, i64>,
}

/// Takes in what is not known yet, as far as there is room for it.
pub(crate) fn admit<'f>(
    tour: &mut Tour,
    found: &'f [Found],
    found_max: u64,
    known: &HashSet<UrlKey>,
    shapes: &HashMap<UrlKey, i64>,
) -> Admitted<'f> {
    let mut admitted = Admitted::default();
    let mut seen = HashSet::new();
    for found in found {
        let key = found.key();
        if known.contains(&key) || !seen.insert(key) {
            continue;
        }
        if tour.found >= found_max {
            tour.left_out += 1;
            continue;
        }
        if let Some((shape, limit)) = found.shape {
            let n = admitted.shapes.get(&shape).or_else(|| shapes.get(&shape)).copied().unwrap_or(0);
            if count(n) >= limit {
                tour.trapped += 1;
                continue;
            }
            admitted.shapes.insert(shape, n + 1);
        }
        tour.found += 1;
        tour.waiting += 1;
        *admitted.sites.entry(found.site()).or_default() += 1;
        admitted.urls.push((found, int(tour.found)));
    }
    admitted
}

/// How many URLs may be asked for now, and how many of them may be pages.
pub(crate) struct Room {
    pub(crate) urls: u64,
    pub(crate) pages: u64,
}

impl Room {
    /// `waiting`: pages of everybody that wait.
    pub(crate) fn new(tour: &Tour, hand: &Hand, waiting: i64, pending_max: u64) -> Self {
        let house = (pending_max / PENDING_SHARE).saturating_sub(count(waiting));
        let urls = hand.outstanding_max.saturating_sub(tour.outstanding()).min(house).min(tour.waiting);
        let pages = hand.pages_max.saturating_sub(tour.asked - tour.sitemaps);
        Self { urls, pages }
    }
}

/// What is asked for, as a job asks for it.
pub(crate) fn asking(tour: &Tour, wanted: Vec<Wanted>, lanes: LaneSettings) -> NewJob {
    // What a tour reads is not paid for by the page.
    NewJob { group: tour.group, wanted, pending_max: u64::MAX, lanes, terms: Terms::default() }
}

/// The pages of a crawl are there to be read; a watch keeps versions instead.
pub(crate) fn forgets_answers(tour: &Tour, step: &Step) -> bool {
    tour.kind != TourKind::Crawl && step.read.1 > step.read.0
}

/// Which versions go: those up to this number.
pub(crate) fn beyond(sizes: &[(i64, i64)], kept: u64, bytes_max: u64) -> Option<i64> {
    let (mut bytes, mut number) = (0, 0);
    for (n, size) in sizes {
        (bytes, number) = (bytes + count(*size), number + 1);
        // The newest is kept whatever its size.
        if number > 1 && (number > kept || bytes > bytes_max) {
            return Some(*n);
        }
    }
    None
}

pub(crate) fn pack(text: &str) -> Vec<u8> {
    zstd::bulk::compress(text.as_bytes(), 3).expect("memory can be packed")
}

pub(crate) fn version(n: i64, at: i64, facts: String, packed: Option<&[u8]>) -> Result<Version> {
    let damaged = |why: String| Error::Internal(format!("a stored version is damaged: {why}"));
    let text = match packed {
        Some(packed) => {
            let raw = zstd::bulk::decompress(packed, TEXT_BYTES_MAX).map_err(|error| damaged(error.to_string()))?;
            String::from_utf8(raw).map_err(|error| damaged(error.to_string()))?
        }
        None => String::new(),
    };
    Ok(Version { n: count(n), at: UnixMs(at), facts, text })
}

/// For a page that waited for a device of a place in vain.
pub(crate) fn nobody_there(place: &str) -> Trouble {
    let note = format!("no device of {place} took it in time");
    Trouble { what: TroubleKind::Refused, note }
}

/// Why a tour is over whose task is.
pub(crate) const GIVEN_UP: &str = "its task was discarded, or failed for good: see the task, then begin again";
