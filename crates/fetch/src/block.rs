//! What a device is given to do, and what it brings back.

use bytes::Bytes;
use malla_queue::LeaseToken;

use crate::{BodyHash, PageUrl, Site};

/// Work for one device: runs of many sites, all under leases that end together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Block {
    pub runs: Vec<Run>,
    /// From when the device asked for it. After that, nothing of it may be started or still be under way.
    pub lease_for_ms: u64,
}

/// Pages of one site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub site: Site,
    /// From the first byte of an answer to the next request. The site then sees at least this gap, whatever the network
    /// does.
    pub gap_ms: u64,
    /// Requests at once.
    pub parallel: u32,
    pub items: Vec<Item>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub token: LeaseToken,
    pub url: PageUrl,
    pub what: What,
    /// Ask only whether it has changed.
    pub validators: Validators,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Page,
    /// Bounded more tightly.
    Robots,
}

/// What the last answer said about its version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validators {
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

impl Validators {
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// What came of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    pub token: LeaseToken,
    pub answer: Answer,
    /// How long ago, when this was sent, the site's last word came. What is lost on the way makes it longer, never
    /// shorter.
    pub quiet_ms: u64,
}

/// What a site answered, or why it did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The site's; [`NO_ANSWER`] if it gave none.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: PackedBody,
    pub trouble: Option<Trouble>,
    pub took_ms: u64,
}

/// The status of a page whose site gave no answer: no such name, no connection, no word in time.
pub const NO_ANSWER: u16 = 580;
/// The status of a page that was not asked for: refused by robots.txt or by our own rules.
pub const NOT_ASKED: u16 = 0;

/// A body with its content encoding undone, packed with zstd. It travels and is stored as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackedBody {
    pub packed: Bytes,
    /// Unpacked.
    pub bytes: u64,
    /// The name of what is in it, as the device says that packed it.
    pub hash: Option<BodyHash>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub what: TroubleKind,
    /// One sentence for people.
    pub note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// The name has no address.
    NoAddress,
    /// Robots, our own rules, or an address that may not be reached.
    Refused,
    /// No connection could be made.
    NoConnection,
    /// The certificate or the handshake.
    Tls,
    TimedOut,
    /// What came is not HTTP.
    Garbled,
    /// The body ended before its end, or is not in the encoding it claims.
    BrokeOff,
    /// More than is taken; what fits is kept.
    TooLarge,
    TooManyRedirects,
}

impl TroubleKind {
    pub const ALL: [TroubleKind; 9] = [
        TroubleKind::NoAddress,
        TroubleKind::Refused,
        TroubleKind::NoConnection,
        TroubleKind::Tls,
        TroubleKind::TimedOut,
        TroubleKind::Garbled,
        TroubleKind::BrokeOff,
        TroubleKind::TooLarge,
        TroubleKind::TooManyRedirects,
    ];

    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            TroubleKind::NoAddress => "no_address",
            TroubleKind::Refused => "refused",
            TroubleKind::NoConnection => "no_connection",
            TroubleKind::Tls => "tls",
            TroubleKind::TimedOut => "timed_out",
            TroubleKind::Garbled => "garbled",
            TroubleKind::BrokeOff => "broke_off",
            TroubleKind::TooLarge => "too_large",
            TroubleKind::TooManyRedirects => "too_many_redirects",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
