//! Endpoints: where events come in.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::whole::{given, given_whole, whole};

/// How events come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    #[default]
    Http,
    Mqtt,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            Protocol::Mqtt => "mqtt",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EndpointView {
    pub name: String,
    /// The name of the group that owns it; null if it belongs to the house.
    pub group: Option<String>,
    pub protocol: Protocol,
    /// Where to post events on this server: `/in/` and the name.
    pub path: String,
    pub description: String,
    /// Bytes of a body at most.
    pub max_body: u64,
    /// A publisher must send the endpoint's token as a bearer.
    pub needs_token: bool,
    /// A publisher must sign as Standard Webhooks says.
    pub needs_signature: bool,
    /// How long events and finished notifications are kept; null is the house's default.
    pub retention_days: Option<u32>,
    /// Where an `mqtt` endpoint listens.
    pub mqtt: Option<MqttView>,
    pub created_at: String,
}

/// A broker and the topics to listen to, without the password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MqttView {
    pub broker: String,
    pub topic: String,
    pub username: Option<String>,
}

/// An endpoint to be made. (Not `Debug`, like all that holds a secret here: it must not print itself.)
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEndpoint {
    /// Its path under `/in/`: 1 to 128 letters, digits and - _ .
    pub name: String,
    /// The group that owns it; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// If given, it must agree with `mqtt` being there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Bytes of a body at most; a mebibyte if not given.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub max_body: Option<u64>,
    /// A token that publishers must send as a bearer. Only its hash is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// A Standard Webhooks secret (`whsec_…`, or `whpk_…` for ed25519) that publishers must sign with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_secret: Option<String>,
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mqtt: Option<MqttSettings>,
}

/// What to change; what is not given stays, null clears it.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    #[schema(value_type = Option<String>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub description: Option<Option<String>>,
    #[schema(value_type = Option<u64>)]
    #[serde(default, deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    pub max_body: Option<Option<u64>>,
    #[schema(value_type = Option<String>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub token: Option<Option<String>>,
    /// The secret before it stays good beside the new one; null clears both.
    #[schema(value_type = Option<String>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub signature_secret: Option<Option<String>>,
    #[schema(value_type = Option<u32>)]
    #[serde(default, deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<Option<u32>>,
    #[schema(value_type = Option<MqttSettings>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub mqtt: Option<Option<MqttSettings>>,
}

/// Where to listen. A new source has a broker and a topic; in a change, what is not given stays.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MqttSettings {
    /// `mqtt://host[:1883]` or `mqtts://host[:8883]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broker: Option<String>,
    /// May have the wildcards `+` and `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    #[schema(value_type = Option<String>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub username: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub password: Option<Option<String>>,
}

impl From<NewEndpoint> for EndpointChange {
    /// Making an endpoint is changing one that has every default.
    fn from(new: NewEndpoint) -> Self {
        Self {
            protocol: new.protocol,
            description: new.description.map(Some),
            max_body: new.max_body.map(Some),
            token: new.token.map(Some),
            signature_secret: new.signature_secret.map(Some),
            retention_days: new.retention_days.map(Some),
            mqtt: new.mqtt.map(Some),
        }
    }
}
