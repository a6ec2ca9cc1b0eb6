//! How a device joins the fleet, gets work and gives it back.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The version of what devices and servers say to each other. Another one is refused with the word `upgrade`.
pub const FLEET_VERSION: u32 = 1;
/// How secrets of devices begin.
pub const DEVICE_SECRET: &str = "malladev";

/// (Not `Debug`: it holds a secret.)
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinFleet {
    /// What the device speaks: 1.
    pub version: u32,
    /// Unique for its owner. The name of a device that is at work is taken.
    pub name: String,
    /// The device's own secret, by which it is known again when it comes back: `malladev` and at least 32 letters, digits,
    /// `-` and `_`, at random. Without one it gets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// `linux x86_64`.
    #[serde(default)]
    pub system: String,
    /// The program's own version.
    #[serde(default)]
    pub program: String,
    #[serde(default)]
    pub hostname: String,
    /// Two capital letters, if the device says where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// (Not `Debug`: it holds a secret.)
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Joined {
    pub device: i64,
    /// The device's own token for everything that follows.
    pub secret: String,
    /// Other servers to turn to when this one is gone.
    pub backups: Vec<String>,
    /// Say that you are there at least this often.
    pub heartbeat_s: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseBlock {
    /// Pages at most.
    pub pages: usize,
    #[serde(default)]
    pub measures: Measures,
}

/// What a device has seen of its own speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Measures {
    pub parallel: u32,
    pub page_ms: u64,
    pub bytes_per_s: u64,
}

/// Work for a device. Nothing of it may be started or be under way `lease_for_ms` after it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct BlockView {
    pub lease_for_ms: u64,
    pub runs: Vec<RunView>,
}

/// Pages of one site, to be asked for one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    /// From the first byte of an answer to the next request.
    pub gap_ms: u64,
    /// Requests at once.
    pub parallel: u32,
    pub items: Vec<ItemView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ItemView {
    /// Names the lease.
    pub token: String,
    pub url: String,
    /// It is a robots.txt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub robots: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct ResultsTaken {
    /// Tokens whose lease is lost: what came with them is dropped.
    pub lost: Vec<String>,
}

/// Work given back undone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveBack {
    pub items: Vec<GivenBack>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GivenBack {
    pub token: String,
    /// How long ago its site spoke last.
    pub quiet_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeviceView {
    pub id: i64,
    pub name: String,
    pub owner: String,
    pub group: Option<String>,
    /// `online`, `offline` or `blocked`.
    pub state: String,
    pub system: String,
    pub version: String,
    pub hostname: String,
    pub address: String,
    pub country: Option<String>,
    pub joined_at: String,
    pub seen_at: String,
    pub measures: Measures,
    pub tally: Tally,
}

/// What a device has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Tally {
    pub pages: u64,
    #[serde(rename = "2xx")]
    pub success: u64,
    #[serde(rename = "3xx")]
    pub redirect: u64,
    #[serde(rename = "4xx")]
    pub client_error: u64,
    #[serde(rename = "5xx")]
    pub server_error: u64,
    #[serde(rename = "580")]
    pub no_answer: u64,
    pub bytes: u64,
    pub took_ms: u64,
    /// Brought too late.
    pub refused: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceChange {
    pub blocked: bool,
}
