//! Dumps that are read in.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::page::from_text;

/// A dump, and which wiki it is of: one that is known by its number, or one by the address of its API or of any page, or
/// one that has no address by its name and language.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewImport {
    /// What tells this dump from others of the wiki. Begun again under the same name, the import goes on.
    pub dump: String,
    /// The number of a wiki that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wiki: Option<i64>,
    /// Its `api.php`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// Any page of it, as a dump names its main page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the wiki is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// What the dump says of the wiki.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub about: Option<Value>,
    /// The group that owns the wiki; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportView {
    pub id: String,
    /// The wiki's number.
    pub wiki: i64,
    pub group: Option<String>,
    pub dump: String,
    /// Batches taken in: the next one has this number.
    pub batches: u64,
    pub pages: u64,
    pub revisions: u64,
    pub finished: bool,
    pub begun_at: String,
    pub changed_at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TakeBatchQuery {
    /// It is the last one.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub last: Option<bool>,
}
