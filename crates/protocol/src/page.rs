//! Lists come in pages.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

pub const LIMIT_DEFAULT: u32 = 50;
pub const LIMIT_MAX: u32 = 200;

/// One page of a list. A page may be short, even empty, and still have a next one: follow `next_cursor` to the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Give it as `cursor` to go on; null at the end.
    pub next_cursor: Option<String>,
}

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// How many at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Reads a value that stands in a query string, where everything is text.
pub(crate) fn from_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|error| serde::de::Error::custom(format!("\"{text}\" does not fit: {error}")))
}
