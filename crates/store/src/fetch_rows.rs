//! What both stores write and read of fetch in the same way.

use std::borrow::Cow;

use malla_fetch::watch::Change;
use malla_fetch::{
    About, Commit, Device, DeviceId, Job, JobId, Measures, NewDevice, NewPage, OFFLINE_AFTER_MS, PackedBody, Page,
    PageId, PageUrl, Settlement, SiteState, Tally, Trouble, TroubleKind,
};
use malla_queue::{Ending, Error, Event, GroupId, Leased, Result, TaskId, UnixMs, Verdict};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::taken::Taken;

/// Whoever waits for answers of jobs listens to this.
pub(crate) const ANSWERS: &str = "fetch-answers";
/// Pages are kept for this long after they were last an answer, on the shelf or not.
pub(crate) const PAGES_KEPT_MS: i64 = 7 * 24 * 3_600_000;
/// Whoever waits for work on behalf of a device listens to this.
pub(crate) const DEVICES: &str = "fetch-devices";
/// Devices that are listed.
pub(crate) const DEVICES_MAX: usize = 10_000;

pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data is JSON")
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::Internal(format!("a stored value is damaged: {error}")))
}

/// Text from outside as both stores can hold it: PostgreSQL has no NUL.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// A site that nobody has told anything about is a new one.
pub(crate) fn site_state(text: Option<&str>) -> Result<SiteState> {
    text.map_or_else(|| Ok(SiteState::default()), from_json)
}

pub(crate) fn pack_robots(text: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(text, 3).expect("memory can be packed")
}

pub(crate) fn unpack_robots(packed: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::decompress(packed, malla_fetch::ROBOTS_BYTES_MAX + 1)
        .map_err(|error| Error::Internal(format!("a stored robots.txt is damaged: {error}")))
}

/// A job's row.
pub(crate) struct JobRow {
    pub(crate) id: i64,
    pub(crate) group: Option<i64>,
    pub(crate) total: i64,
    pub(crate) done: i64,
    pub(crate) good: i64,
    pub(crate) cached: i64,
    pub(crate) cancelled: bool,
    pub(crate) finished_at: Option<i64>,
    /// It tells itself what has changed.
    pub(crate) quiet: bool,
    /// Told only what was checked.
    pub(crate) verified: bool,
}

impl JobRow {
    /// Counts an answer and says which it is.
    pub(crate) fn count(&mut self, status: u16, cached: bool, now: UnixMs) -> i64 {
        self.done += 1;
        self.good += i64::from((200..300).contains(&status));
        self.cached += i64::from(cached);
        if self.done >= self.total && self.finished_at.is_none() {
            self.finished_at = Some(now.0);
        }
        self.done
    }

    pub(crate) fn read(self) -> Job {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Job {
            id: JobId(TaskId(self.id)),
            group: self.group.map(GroupId),
            total: count(self.total),
            done: count(self.done),
            good: count(self.good),
            cached: count(self.cached),
            cancelled: self.cancelled,
            finished_at: self.finished_at.map(UnixMs),
        }
    }
}

/// A page's columns, in the order of the statements.
#[derive(Default)]
pub(crate) struct PageRow {
    pub(crate) url: String,
    pub(crate) status: i32,
    pub(crate) headers: String,
    pub(crate) bytes: i64,
    pub(crate) trouble: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) fetched_at: i64,
    pub(crate) took_ms: i64,
    pub(crate) device: Option<String>,
    pub(crate) packed: Option<Vec<u8>>,
    /// Where the body lies, if not here.
    pub(crate) object: Option<String>,
    pub(crate) verified: bool,
}

impl PageRow {
    pub(crate) fn read(self, id: i64) -> Result<Page> {
        let packed = self.packed.unwrap_or_default();
        // A body without its bytes is one that is not there.
        let bytes = if packed.is_empty() && self.object.is_none() { 0 } else { u64::try_from(self.bytes).unwrap_or(0) };
        Ok(Page {
            id: PageId(TaskId(id)),
            url: self.url,
            status: u16::try_from(self.status).unwrap_or(0),
            headers: from_json(&self.headers)?,
            body: PackedBody { packed: packed.into(), bytes, hash: None },
            trouble: trouble(self.trouble, self.note),
            fetched_at: UnixMs(self.fetched_at),
            took_ms: u64::try_from(self.took_ms).unwrap_or(0),
            device: self.device,
            verified: self.verified,
        })
    }
}

fn trouble(what: Option<String>, note: Option<String>) -> Option<Trouble> {
    let what = TroubleKind::from_name(&what?)?;
    Some(Trouble { what, note: note.unwrap_or_default() })
}

/// For those who wait for a task that ended without an answer.
pub(crate) fn orphaned(url: String, now: UnixMs) -> NewPage {
    let note = "its task was discarded, or failed for good, before an answer came".to_owned();
    NewPage::not_asked(url, Trouble { what: TroubleKind::Refused, note }, now)
}

/// Tells a group that a page in the cache has changed.
pub(crate) fn changed_event(url: &PageUrl, page: &NewPage, group: Option<GroupId>) -> Event {
    let change = Change { url, status: page.status, fetched_at: page.fetched_at, watch: None, texts: None };
    malla_fetch::watch::changed_event(&change, group)
}

/// What stands for a page that is not kept any more.
pub(crate) fn forgotten(id: i64, url: &str) -> Page {
    let note = "this page is not kept any more: ask for it again".to_owned();
    let why = Trouble { what: TroubleKind::Refused, note };
    let NewPage { url, status, headers, trouble, fetched_at, took_ms, device, .. } =
        NewPage::not_asked(url.to_owned(), why, UnixMs(0));
    let (id, body) = (PageId(TaskId(id)), PackedBody::default());
    Page { id, url, status, headers, body, trouble, fetched_at, took_ms, device, verified: false }
}

/// A device's row.
pub(crate) struct DeviceRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) group: Option<i64>,
    pub(crate) about: String,
    pub(crate) blocked: bool,
    pub(crate) joined_at: i64,
    pub(crate) seen_at: i64,
    pub(crate) left: bool,
    pub(crate) measures: String,
    pub(crate) tally: String,
}

impl DeviceRow {
    pub(crate) fn read(self) -> Result<Device> {
        let about: About = from_json(&self.about)?;
        let measures: Measures = from_json(&self.measures)?;
        let tally: Tally = from_json(&self.tally)?;
        Ok(Device {
            id: DeviceId(self.id),
            name: self.name,
            owner: self.owner,
            group: self.group.map(GroupId),
            about,
            blocked: self.blocked,
            joined_at: UnixMs(self.joined_at),
            seen_at: UnixMs(self.seen_at),
            left: self.left,
            measures,
            tally,
        })
    }
}

/// Why a device cannot join under the name of one that is at work.
pub(crate) fn at_work(device: &Device, now: UnixMs) -> Error {
    let Device { name, owner, seen_at, .. } = device;
    let left_s = (seen_at.0 + OFFLINE_AFTER_MS - now.0).max(0) / 1_000 + 1;
    Error::Taken(format!("a device named {name} of {owner} is at work: choose another --name, or wait {left_s} s"))
}

/// Refuses a device whose secret is another's.
pub(crate) fn check_secret(new: &NewDevice, known: Option<&Device>) -> Result<()> {
    match known.filter(|known| (known.name.as_str(), known.owner.as_str()) != (&new.name, &*plain(&new.owner))) {
        Some(_) => Err(Error::Taken("another device has this secret: make a new one".into())),
        None => Ok(()),
    }
}

/// What becomes of what a device held when it is gone. It may have asked the site a moment ago, so the lane keeps its gap
/// from now on.
pub(crate) fn device_left(leased: &Leased, gap_ms: i64, now: UnixMs) -> Ending {
    let ending = Verdict::Released { note: "its device left".into() }.ending(leased, now);
    Ending { lane_rest_until: (gap_ms > 0).then_some(UnixMs(now.0 + gap_ms)), ..ending }
}

/// What a device has brought with a commit: only what was taken counts, and counts once.
pub(crate) fn counted(commit: &Commit, taken: &[Taken]) -> Tally {
    let lost = taken.iter().filter(|taken| **taken == Taken::Lost).count() as u64;
    let mut tally = match () {
        () if taken.is_empty() || taken.contains(&Taken::Now) => commit.tally,
        () if taken.contains(&Taken::Before) => Tally::default(),
        () => Tally { refused: commit.tally.refused, ..Tally::default() },
    };
    for (settled, taken) in commit.settled.iter().zip(taken) {
        if let (Taken::Before | Taken::Lost, Some((status, bytes, took_ms))) = (taken, brought(&settled.outcome)) {
            let mut one = Tally::default();
            one.count(status, bytes, took_ms);
            take_away(&mut tally, &one);
        }
    }
    tally.refused += lost;
    tally
}

/// Status, bytes and time of the answer behind a settlement, as far as it tells.
fn brought(settlement: &Settlement) -> Option<(u16, u64, u64)> {
    match settlement {
        Settlement::Open => None,
        Settlement::Page { page, .. } => {
            Some((page.status, page.body.as_ref().map_or(0, |body| body.bytes), page.took_ms))
        }
        Settlement::Checked(settling) => settling
            .page
            .as_ref()
            .map(|page| (page.status, page.body.as_ref().map_or(0, |body| body.bytes), page.took_ms)),
        Settlement::Unchanged { .. } => Some((304, 0, 0)),
        Settlement::Moved { .. } => Some((302, 0, 0)),
        Settlement::Robots { robots, .. } => Some((robots.status, robots.text.len() as u64, 0)),
    }
}

fn take_away(from: &mut Tally, tally: &Tally) {
    from.pages = from.pages.saturating_sub(tally.pages);
    from.bytes = from.bytes.saturating_sub(tally.bytes);
    from.took_ms = from.took_ms.saturating_sub(tally.took_ms);
    from.by_class.iter_mut().zip(tally.by_class).for_each(|(sum, less)| *sum = sum.saturating_sub(less));
}
