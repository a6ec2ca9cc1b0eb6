//! How devices stand, checks of what they bring, and sites that are never fetched.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// How a device stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StandingView {
    pub device: i64,
    pub name: String,
    pub owner: String,
    /// Consecutive valid checked results: of the device, and of all devices of its owner.
    pub valid: u64,
    pub owner_valid: u64,
    /// Of a million results, how many are checked now.
    pub checked_per_million: u32,
    /// Results checked in all.
    pub checked: u64,
    /// Lies that are not made up for yet.
    pub strikes: u32,
    /// Checks that told nothing.
    pub doubts: u64,
    pub convicted: bool,
    pub reason: Option<String>,
}

/// A check of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckView {
    pub id: String,
    /// `replica`, `etag`, `control`, `known` or `report`.
    pub kind: String,
    /// `open`, `trial`, `agreed`, `cleared`, `upheld` or `lapsed`.
    pub state: String,
    pub url: String,
    /// Whose result is in question.
    pub first: Option<ClaimView>,
    pub second: Option<ClaimView>,
    /// What a trusted device saw.
    pub third: Option<ClaimView>,
    /// The device that lied.
    pub guilty: Option<i64>,
    pub at: String,
    pub ended_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimView {
    pub device: i64,
    pub name: String,
    pub owner: String,
    pub country: Option<String>,
    pub status: u16,
    pub location: Option<String>,
    /// It said that the page had not changed.
    pub unchanged: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CheckQuery {
    /// Only checks that this device took part in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// A site that is never fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockedView {
    /// A host with all below it, and perhaps the beginning of a path.
    pub site: String,
    pub why: String,
    /// Its owner asked for it: who that was.
    pub contact: Option<String>,
    /// Who put it onto the list; `configuration` if it stands there.
    pub by: String,
    pub at: Option<String>,
}

/// A site that shall not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockSite {
    /// `example.org`, with all below it; `example.org/private` for a part of it.
    pub site: String,
    /// Told to whoever asks for a page there.
    #[serde(default)]
    pub why: String,
    /// The owner of the site who asked to be left alone, and how to reach them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BlockedQuery {
    /// As it stands in the list.
    #[serde(default)]
    #[param(required = true)]
    pub site: String,
}
