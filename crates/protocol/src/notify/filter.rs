//! Which events a subscription wants.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A condition on one header, on one field of a JSON body or on the topic of an event from MQTT. Of the tests, those
/// that are given must all hold; with none, the thing must merely be there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Condition {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// `order.items.0.kind`: names of objects and positions in arrays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// Equal to one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any_of: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greater_than: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub less_than: Option<f64>,
    /// False: it must not be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// The condition must not hold.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not: bool,
}
