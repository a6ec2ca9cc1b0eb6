//! Subscriptions: who gets the events of an endpoint, and how.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::Condition;
use crate::whole::{given, given_whole, given_wholes, whole, wholes};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubscriptionState {
    Active,
    /// Notifications are made and held.
    Suspended,
    /// None are made; those that wait are discarded.
    Disabled,
}

impl SubscriptionState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for SubscriptionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether deliveries are CloudEvents: `false`, `true` or `"binary"` (headers beside the body as it is), or
/// `"structured"` (the body inside a JSON envelope).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CloudEvents {
    #[default]
    Off,
    Binary,
    Structured,
}

impl CloudEvents {
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Binary => "binary",
            Self::Structured => "structured",
        }
    }
}

impl Serialize for CloudEvents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Binary | Self::Structured => serializer.serialize_str(self.name()),
        }
    }
}

impl<'de> Deserialize<'de> for CloudEvents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(false) => Ok(Self::Off),
            Value::Bool(true) => Ok(Self::Binary),
            Value::String(name) if name == "binary" => Ok(Self::Binary),
            Value::String(name) if name == "structured" => Ok(Self::Structured),
            other => Err(D::Error::custom(format_args!("{other} is not false, true, \"binary\" or \"structured\""))),
        }
    }
}

impl PartialSchema for CloudEvents {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::Boolean, Type::String]))
            .enum_values(Some([json!(false), json!(true), json!("binary"), json!("structured")]))
            .into()
    }
}

impl ToSchema for CloudEvents {}

/// How Malla shows itself to the target.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Auth {
    Basic { username: String, password: String },
    Bearer(String),
}

/// [`Auth`] without its secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthKind {
    Basic,
    Bearer,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionView {
    pub name: String,
    pub endpoint: String,
    /// The name of the group that owns it; null if it belongs to the house.
    pub group: Option<String>,
    pub state: SubscriptionState,
    /// A password in it is shown as `***`.
    pub target: String,
    pub retry_delays_s: Vec<u64>,
    pub timeout_s: u64,
    pub parallel: u32,
    pub headers: BTreeMap<String, String>,
    pub forward_headers: bool,
    pub forward_query: bool,
    pub filter: Vec<Condition>,
    /// Deliveries are signed as Standard Webhooks says.
    pub signed: bool,
    pub cloudevents: CloudEvents,
    pub auth: Option<AuthKind>,
    pub confirm_within_s: u64,
    pub created_at: String,
}

/// A subscription made or changed. A secret that the server made is in this answer and in no other.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionMade {
    #[serde(flatten)]
    pub view: SubscriptionView,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A subscription to be made. (Not `Debug`, like all that holds a secret here: it must not print itself.)
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubscription {
    /// Unique: 1 to 128 letters, digits and - _ .
    pub name: String,
    /// The endpoint's name.
    pub endpoint: String,
    /// `http://…`, `https://…`, or `mqtt://[user:password@]host[:port]/topic` (`mqtts` for TLS).
    pub target: String,
    /// The group that owns it; may be left out by who has one group. An admin who names none takes the endpoint's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `active` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SubscriptionState>,
    /// The wait before each further attempt, in whole seconds. An empty list means a single attempt.
    #[serde(default, deserialize_with = "wholes", skip_serializing_if = "Option::is_none")]
    pub retry_delays_s: Option<Vec<u64>>,
    /// Over the whole exchange.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// Deliveries at once; 20 if not given.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// Headers to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// Repeat the event's own headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward_headers: Option<bool>,
    /// Repeat the event's query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward_query: Option<bool>,
    /// Conditions that must all hold; none takes every event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Vec<Condition>>,
    /// A Standard Webhooks secret (`whsec_…`, or `whsk_…` for ed25519), or `generate` to get a new one in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloudevents: Option<CloudEvents>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<Auth>,
    /// After a 202, the confirmation must come within this time; then it is tried again.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub confirm_within_s: Option<u64>,
}

/// What to change; what is not given stays, null goes back to the default.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SubscriptionState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[schema(value_type = Option<Vec<u64>>)]
    #[serde(default, deserialize_with = "given_wholes", skip_serializing_if = "Option::is_none")]
    pub retry_delays_s: Option<Option<Vec<u64>>>,
    #[schema(value_type = Option<u64>)]
    #[serde(default, deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<Option<u64>>,
    #[schema(value_type = Option<u32>)]
    #[serde(default, deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    pub parallel: Option<Option<u32>>,
    /// The whole list.
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub headers: Option<Option<BTreeMap<String, String>>>,
    #[schema(value_type = Option<bool>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub forward_headers: Option<Option<bool>>,
    #[schema(value_type = Option<bool>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub forward_query: Option<Option<bool>>,
    /// The whole list.
    #[schema(value_type = Option<Vec<Condition>>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub filter: Option<Option<Vec<Condition>>>,
    /// For a day, the secret before it signs beside the new one. Null ends signing at once.
    #[schema(value_type = Option<String>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub secret: Option<Option<String>>,
    #[schema(value_type = Option<CloudEvents>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub cloudevents: Option<Option<CloudEvents>>,
    #[schema(value_type = Option<Auth>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub auth: Option<Option<Auth>>,
    #[schema(value_type = Option<u64>)]
    #[serde(default, deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    pub confirm_within_s: Option<Option<u64>>,
}

impl From<NewSubscription> for SubscriptionChange {
    /// Making a subscription is changing one that has every default.
    fn from(new: NewSubscription) -> Self {
        Self {
            state: new.state,
            target: Some(new.target),
            retry_delays_s: new.retry_delays_s.map(Some),
            timeout_s: new.timeout_s.map(Some),
            parallel: new.parallel.map(Some),
            headers: new.headers.map(Some),
            forward_headers: new.forward_headers.map(Some),
            forward_query: new.forward_query.map(Some),
            filter: new.filter.map(Some),
            secret: new.secret.map(Some),
            cloudevents: new.cloudevents.map(Some),
            auth: new.auth.map(Some),
            confirm_within_s: new.confirm_within_s.map(Some),
        }
    }
}

/// Which subscriptions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SubscriptionQuery {
    /// The endpoint's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cloudevents_is_a_truth_or_a_mode() {
        check(json!(false), Some(CloudEvents::Off));
        check(json!(true), Some(CloudEvents::Binary));
        check(json!("binary"), Some(CloudEvents::Binary));
        check(json!("structured"), Some(CloudEvents::Structured));
        check(json!("yes"), None);
        check(json!(1), None);
    }

    fn check(value: Value, expected: Option<CloudEvents>) {
        assert_eq!(serde_json::from_value::<CloudEvents>(value.clone()).ok(), expected, "{value}");
    }

    #[test]
    fn a_change_tells_null_from_nothing() {
        let change: SubscriptionChange =
            serde_json::from_value(json!({ "secret": null, "timeout_s": 5 })).expect("reads");
        assert_eq!((&change.secret, change.timeout_s, change.parallel), (&Some(None), Some(Some(5)), None));
        assert_eq!(serde_json::to_value(&change).expect("writes"), json!({ "secret": null, "timeout_s": 5 }));
        assert!(serde_json::from_value::<SubscriptionChange>(json!({ "colour": 1 })).is_err());
    }
}
