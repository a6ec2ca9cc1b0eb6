//! A page as it was fetched, and what the cache knows of it.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use malla_queue::{Error, Kind, LaneSettings, NewTask, Priority, Result, RetryDelays, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::trust::CheckTask;
use crate::{CHECK, PAGE, PackedBody, PageUrl, ROBOTS, Site, Trouble, UrlKey, Validators};

/// A site that gives no answer, or pushes back, is asked for a page again after these.
const RETRY_DELAYS_S: [u64; 2] = [1, 5];

/// A fetched page's number, from the same sequence as the tasks'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageId(pub TaskId);

/// Names a body by what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BodyHash(pub [u8; 32]);

impl BodyHash {
    pub fn of(body: &[u8]) -> Self {
        Self(*blake3::hash(body).as_bytes())
    }
}

impl fmt::Display for BodyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl FromStr for BodyHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let hash = blake3::Hash::from_hex(text).map_err(|error| Error::Invalid(format!("not a hash: {error}")))?;
        Ok(Self(*hash.as_bytes()))
    }
}

/// A body that is what it claims: it was unpacked, or a device of the house says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedBody {
    pub hash: BodyHash,
    pub packed: Bytes,
    pub bytes: u64,
    /// The store's: where it has put the bytes, if not beside the row.
    pub object: Option<String>,
}

impl CheckedBody {
    /// Unpacks the body, at most `bytes_max`, and names it. `None` if it is empty.
    pub fn check(body: &PackedBody, bytes_max: u64) -> Result<Option<Self>> {
        Self::named_by(body, bytes_max, || unpack(&body.packed, body.bytes).map(|raw| BodyHash::of(&raw)))
    }

    /// Takes the device's word for what is in the body, if it says so and the length is the one that it claims: to unpack
    /// all that devices bring costs more than to take it in.
    pub fn believe(body: &PackedBody, bytes_max: u64) -> Result<Option<Self>> {
        let length = zstd::zstd_safe::get_frame_content_size(&body.packed).ok().flatten();
        match body.hash.filter(|_| length == Some(body.bytes)) {
            Some(hash) => Self::named_by(body, bytes_max, || Ok(hash)),
            None => Self::check(body, bytes_max),
        }
    }

    fn named_by(body: &PackedBody, bytes_max: u64, name: impl FnOnce() -> Result<BodyHash>) -> Result<Option<Self>> {
        let wrong = |why: &str| Error::Invalid(format!("a body does not unpack: {why}"));
        if body.packed.is_empty() {
            return if body.bytes == 0 { Ok(None) } else { Err(wrong("it is empty and claims not to be")) };
        }
        if body.bytes > bytes_max {
            return Err(wrong("it is larger than is taken"));
        }
        let hash = name()?;
        Ok((body.bytes > 0).then(|| Self { hash, packed: body.packed.clone(), bytes: body.bytes, object: None }))
    }
}

thread_local! {
    /// To make one costs as much as to unpack a page. `None` if there was no memory for it.
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> =
        RefCell::new(zstd::bulk::Decompressor::new().ok());
}

/// Unpacks what must have exactly this many bytes.
pub fn unpack(packed: &[u8], bytes: u64) -> Result<Vec<u8>> {
    let wrong = |why: String| Error::Invalid(format!("a body does not unpack: {why}"));
    let capacity = usize::try_from(bytes).map_err(|_| wrong("it is too large".into()))?;
    let raw = UNPACKER.with_borrow_mut(|unpacker| match unpacker {
        Some(unpacker) => unpacker.decompress(packed, capacity),
        None => zstd::bulk::decompress(packed, capacity),
    });
    let raw = raw.map_err(|error| wrong(error.to_string()))?;
    if raw.len() != capacity {
        return Err(wrong(format!("it has {} bytes, not {capacity}", raw.len())));
    }
    Ok(raw)
}

/// The body of a page as the site sent it, its content encoding undone.
pub fn unpack_page(page: &Page) -> Result<Vec<u8>> {
    if page.body.packed.is_empty() { Ok(Vec::new()) } else { unpack(&page.body.packed, page.body.bytes) }
}

/// A page on its way into the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPage {
    /// Where it was found.
    pub url: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Option<CheckedBody>,
    pub trouble: Option<Trouble>,
    pub fetched_at: UnixMs,
    pub took_ms: u64,
    /// The name of the device that fetched it.
    pub device: Option<String>,
}

/// A page as the store gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub id: PageId,
    pub url: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: PackedBody,
    pub trouble: Option<Trouble>,
    pub fetched_at: UnixMs,
    pub took_ms: u64,
    pub device: Option<String>,
    /// A second device has brought the same.
    pub verified: bool,
}

/// How long the cache may give a page out, and how to ask whether it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shelf {
    pub fresh_until: UnixMs,
    pub validators: Validators,
}

/// What a task of this room is about: its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTask {
    #[serde(with = "as_text")]
    pub url: PageUrl,
    /// Redirects behind it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hops: u32,
    /// The page in the cache that may still be the same, and how to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<PageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The site whose robots.txt this is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots_of: Option<String>,
    /// Only a device of this place fetches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pinned>,
    /// The check it is fetched for, if it is not for those who wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckTask>,
}

/// Where a page is to be fetched from, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// A country, or a device.
    pub place: String,
    pub deadline: UnixMs,
}

fn is_zero(hops: &u32) -> bool {
    *hops == 0
}

impl PageTask {
    pub fn new(url: PageUrl) -> Self {
        Self { url, hops: 0, base: None, etag: None, last_modified: None, robots_of: None, pin: None, check: None }
    }

    /// The robots.txt of a site, to be fetched before its pages.
    pub fn robots(site: &Site) -> Self {
        Self { robots_of: Some(site.as_str().to_owned()), ..Self::new(site.robots()) }
    }

    /// The task in the lane of its site. While one for the same URL (or the same site's robots.txt) waits, there is no
    /// second.
    pub fn to_task(&self, lane_settings: LaneSettings) -> NewTask {
        let (kind, priority, dedup) = match (&self.robots_of, &self.check, &self.pin) {
            (Some(site), ..) => (ROBOTS, Priority::High, format!("robots {}", UrlKey::of(site))),
            (None, Some(check), _) if check.trusted => (CHECK, Priority::High, format!("trial {}", check.id)),
            (None, Some(check), _) if check.held => (CHECK, Priority::High, format!("check {}", check.id)),
            (None, Some(check), _) => (CHECK, Priority::Normal, format!("check {}", check.id)),
            (None, None, Some(pin)) => (PAGE, Priority::Normal, format!("{} {}", self.url.key(), pin.place)),
            (None, None, None) => (PAGE, Priority::Normal, self.url.key().to_string()),
        };
        NewTask {
            lane_settings,
            priority,
            dedup: Some(dedup),
            retry: RetryDelays::seconds(RETRY_DELAYS_S),
            ..NewTask::new(self.url.site().lane(), Kind::new(kind), self.to_payload())
        }
    }

    pub fn to_payload(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain text and numbers")
    }

    pub fn from_payload(payload: &[u8]) -> Result<Self> {
        serde_json::from_slice(payload).map_err(|error| Error::Internal(format!("a page's task is damaged: {error}")))
    }

    pub fn validators(&self) -> Validators {
        Validators { etag: self.etag.clone(), last_modified: self.last_modified.clone() }
    }
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::PageUrl;

    pub(super) fn serialize<S: Serializer>(url: &PageUrl, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(url.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PageUrl, D::Error> {
        PageUrl::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_it_claims_or_refused() {
        let packed = |raw: &[u8], bytes| PackedBody {
            packed: zstd::bulk::compress(raw, 1).expect("packs").into(),
            bytes,
            hash: None,
        };
        let good = CheckedBody::check(&packed(b"hello", 5), 100).expect("good").expect("not empty");
        assert_eq!((good.bytes, good.hash), (5, BodyHash::of(b"hello")));
        assert_eq!(CheckedBody::check(&PackedBody::default(), 100), Ok(None));
        for wrong in [
            packed(b"hello", 4),
            packed(b"hello", 6),
            packed(&[0; 1_000], 1_000),
            PackedBody { bytes: 5, ..PackedBody::default() },
            PackedBody { packed: Bytes::from_static(b"garbage"), bytes: 5, hash: None },
        ] {
            assert!(CheckedBody::check(&wrong, 100).is_err(), "{wrong:?}");
            let said = PackedBody { hash: Some(BodyHash([7; 32])), ..wrong };
            assert!(CheckedBody::believe(&said, 100).is_err(), "{said:?}");
        }
    }

    #[test]
    fn a_device_of_the_house_names_what_it_brings() {
        let packed = Bytes::from(zstd::bulk::compress(b"hello", 1).expect("packs"));
        let body = |hash| PackedBody { packed: packed.clone(), bytes: 5, hash };
        let name = |body| CheckedBody::believe(&body, 100).expect("good").expect("not empty").hash;
        let said = BodyHash([7; 32]);
        assert_eq!(name(body(Some(said))), said);
        assert_eq!(name(body(None)), BodyHash::of(b"hello"), "who says nothing is looked at");
        assert_eq!(
            CheckedBody::check(&body(Some(said)), 100).expect("good").map(|body| body.hash),
            Some(BodyHash::of(b"hello"))
        );
        assert_eq!(said.to_string().parse(), Ok(said));
        assert!("7".repeat(63).parse::<BodyHash>().is_err());
    }

    #[test]
    fn a_page_and_the_robots_of_its_site_are_two_tasks_in_one_lane() {
        let url = PageUrl::parse("https://example.org/robots.txt").expect("a URL");
        let settings = LaneSettings { ceiling: 1, gap_ms: 1_000 };
        let page = PageTask::new(url.clone()).to_task(settings);
        let robots = PageTask::robots(&url.site()).to_task(settings);
        assert_eq!(page.lane, robots.lane);
        assert_ne!(page.dedup, robots.dedup);
        assert!(robots.priority < page.priority);
    }

    #[test]
    fn a_payload_reads_back() {
        let url = PageUrl::parse("https://example.org/a?b").expect("a URL");
        let task = PageTask { hops: 2, etag: Some("\"x\"".into()), ..PageTask::new(url) };
        assert_eq!(PageTask::from_payload(&task.to_payload()), Ok(task));
        assert!(PageTask::from_payload(b"{}").is_err());
    }
}
