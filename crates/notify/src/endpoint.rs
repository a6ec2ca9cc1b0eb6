//! An endpoint: where events come in.

use malla_queue::{Error, GroupId, Result, UnixMs};
use serde::{Deserialize, Serialize};

/// The endpoint at which Malla's own events arrive. It is there from the start and belongs to everybody; a group's
/// subscription to it gets the events of that group.
pub const SYSTEM: &str = "system";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EndpointId(pub i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Endpoint {
    pub id: EndpointId,
    /// Its path under `/in/`.
    pub name: String,
    pub group: Option<GroupId>,
    pub options: EndpointOptions,
    pub created_at: UnixMs,
    /// Rises with every change of the endpoint or of a subscription to it.
    pub version: i64,
}

impl Endpoint {
    pub fn protocol(&self) -> Protocol {
        if self.options.mqtt.is_some() { Protocol::Mqtt } else { Protocol::Http }
    }

    /// Nobody posts to it: its events come from within.
    pub fn is_system(&self) -> bool {
        self.name == SYSTEM
    }
}

/// Everything about an endpoint that can be chosen. Stored as it is, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndpointOptions {
    pub description: String,
    /// Bytes of a body at most.
    pub max_body: u64,
    /// SHA-256 of the token that a publisher must send as a bearer, in hex.
    pub token_sha256: Option<String>,
    /// Standard Webhooks secrets (`whsec_…`, or `whpk_…` for ed25519), any of which must have signed the event.
    pub signature_secrets: Vec<String>,
    /// Events and finished notifications are kept this long; `None` is the house's default.
    pub retention_days: Option<u32>,
    /// For `mqtt`: where to listen.
    pub mqtt: Option<MqttSource>,
}

impl EndpointOptions {
    pub const MAX_BODY_DEFAULT: u64 = 1024 * 1024;
    /// No endpoint takes more.
    pub const MAX_BODY_MAX: u64 = 16 * 1024 * 1024;
    const SECRETS_MAX: usize = 4;

    pub fn check(&self) -> Result<()> {
        let max = Self::MAX_BODY_MAX;
        if self.max_body == 0 || self.max_body > max {
            return Err(Error::Invalid(format!("max_body is from 1 to {max} bytes")));
        }
        if self.signature_secrets.len() > Self::SECRETS_MAX {
            return Err(Error::Invalid(format!("an endpoint has at most {} signature secrets", Self::SECRETS_MAX)));
        }
        for secret in &self.signature_secrets {
            crate::signing::Secret::parse(secret)?;
        }
        let hex = |hash: &String| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if !self.token_sha256.as_ref().is_none_or(hex) {
            return Err(Error::Invalid("token_sha256 is the token's SHA-256 in 64 hexadecimal digits".into()));
        }
        if self.retention_days.is_some_and(|days| days == 0 || days > 3_650) {
            return Err(Error::Invalid("retention_days is from 1 to 3650".into()));
        }
        if self.description.len() > 1_000 {
            return Err(Error::Invalid("a description has at most 1000 bytes".into()));
        }
        self.mqtt.as_ref().map_or(Ok(()), MqttSource::check)
    }
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            description: String::new(),
            max_body: Self::MAX_BODY_DEFAULT,
            token_sha256: None,
            signature_secrets: Vec::new(),
            retention_days: None,
            mqtt: None,
        }
    }
}

/// A broker and a topic filter to listen to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MqttSource {
    /// `mqtt://host[:1883]` or `mqtts://host[:8883]`.
    pub broker: String,
    /// May have the wildcards `+` and `#`.
    pub topic: String,
    #[serde(default)]
    pub username: Option<String>,
    #[serde(default)]
    pub password: Option<String>,
}

impl MqttSource {
    pub fn check(&self) -> Result<()> {
        crate::target::check_broker(&self.broker)?;
        crate::target::check_topic_filter(&self.topic)
    }
}

#[derive(Debug, Clone)]
pub struct NewEndpoint {
    pub name: String,
    pub group: Option<GroupId>,
    pub options: EndpointOptions,
}

impl NewEndpoint {
    pub fn check(&self) -> Result<()> {
        check_name("an endpoint", &self.name)?;
        if self.name == SYSTEM {
            return Err(Error::Taken(format!("\"{SYSTEM}\" is the endpoint of Malla's own events")));
        }
        self.options.check()
    }
}

/// What to change: the options as a whole, as the caller has read and edited them.
#[derive(Debug, Clone, Default)]
pub struct EndpointChange {
    pub options: Option<EndpointOptions>,
}

/// Names stand in URLs and in lane keys.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    let fits = (1..=128).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && !name.starts_with('.');
    if fits {
        return Ok(());
    }
    Err(Error::Invalid(format!("\"{name}\" cannot name {what}: use 1 to 128 letters, digits and - _ .")))
}
