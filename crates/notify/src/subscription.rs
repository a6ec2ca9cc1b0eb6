//! A subscription: who gets the events of an endpoint, and how.

use std::collections::BTreeMap;
use std::time::Duration;

use malla_queue::{Error, GroupId, LaneKey, Limits, Result, RetryDelays, UnixMs};
use serde::{Deserialize, Serialize};

use crate::endpoint::check_name;
use crate::{EndpointId, Filter, ROOM, Target};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubscriptionId(pub i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubscriptionState {
    Active,
    /// Notifications are made and held.
    Suspended,
    /// None are made; those that wait are discarded.
    Disabled,
}

impl SubscriptionState {
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Disabled];

    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Disabled => "disabled",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    pub id: SubscriptionId,
    pub name: String,
    pub endpoint: EndpointId,
    /// The endpoint's name.
    pub endpoint_name: String,
    pub group: Option<GroupId>,
    pub state: SubscriptionState,
    pub spec: SubscriptionSpec,
    pub created_at: UnixMs,
}

impl Subscription {
    /// Its lane in the queue: the ceiling is `parallel`, and suspended means paused.
    pub fn lane(&self) -> LaneKey {
        lane_of(&self.name)
    }

    /// Whether a new event makes a notification for it, `kind` and `group` being those of an event of Malla's own.
    pub fn wants(&self, event: &crate::Reading<'_>, own: Option<(&str, Option<GroupId>)>) -> bool {
        let ours = own.is_none_or(|(_, group)| self.group.is_none() || self.group == group);
        self.state != SubscriptionState::Disabled
            && ours
            && self.spec.filter.as_ref().is_none_or(|filter| filter.matches(event))
    }
}

/// The lane of the subscription called `name`.
pub fn lane_of(name: &str) -> LaneKey {
    LaneKey::trusted(format!("{ROOM}/{name}"))
}

/// Everything about a subscription that can be chosen. Stored as it is, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubscriptionSpec {
    pub target: Target,
    /// One entry an attempt after the first: the wait before it.
    pub retry_delays_s: Vec<u64>,
    /// Over the whole exchange.
    pub timeout_s: u64,
    /// Deliveries at once.
    pub parallel: u32,
    /// Headers to add.
    pub headers: BTreeMap<String, String>,
    /// Repeat the event's own headers.
    pub forward_headers: bool,
    /// Repeat the event's query.
    pub forward_query: bool,
    pub filter: Option<Filter>,
    /// Standard Webhooks: `whsec_…` (HMAC-SHA256) or `whsk_…` (ed25519).
    pub secret: Option<String>,
    /// The secret before the last change, and until when it signs too.
    pub previous_secret: Option<(String, UnixMs)>,
    pub cloudevents: CloudEvents,
    pub auth: Option<Auth>,
    /// After a 202, the word must come within this time.
    pub confirm_within_s: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CloudEvents {
    #[default]
    Off,
    /// `ce-` headers beside the body as it is.
    Binary,
    /// The body inside a JSON envelope.
    Structured,
}

/// How Malla shows itself to the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    Basic { username: String, password: String },
    Bearer(String),
}

impl Auth {
    /// Whether it can stand in a header.
    fn fits(&self) -> bool {
        let plain = |text: &str| text.len() <= 4_096 && !text.chars().any(char::is_control);
        match self {
            Auth::Basic { username, password } => plain(username) && plain(password) && !username.contains(':'),
            Auth::Bearer(token) => plain(token),
        }
    }
}

impl Default for SubscriptionSpec {
    fn default() -> Self {
        Self {
            target: Target::default(),
            retry_delays_s: Self::RETRY_DELAYS_S.to_vec(),
            timeout_s: 30,
            parallel: 20,
            headers: BTreeMap::new(),
            forward_headers: false,
            forward_query: false,
            filter: None,
            secret: None,
            previous_secret: None,
            cloudevents: CloudEvents::Off,
            auth: None,
            confirm_within_s: 3_600,
        }
    }
}

impl SubscriptionSpec {
    /// Five seconds, five minutes, half an hour, 2, 5, 10, 14, 20 and 24 hours: a little over three days in all.
    pub const RETRY_DELAYS_S: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    pub const TIMEOUT_S_MAX: u64 = 300;
    /// How long a replaced secret goes on signing beside the new one.
    pub const SECRET_GRACE: Duration = Duration::from_secs(24 * 3600);
    const HEADERS_MAX: usize = 32;

    pub fn retry_delays(&self) -> RetryDelays {
        RetryDelays::seconds(self.retry_delays_s.iter().copied())
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_s)
    }

    pub fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(Error::Invalid(why));
        self.retry_delays().check()?;
        self.target.check()?;
        if self.timeout_s == 0 || self.timeout_s > Self::TIMEOUT_S_MAX {
            return wrong(format!("timeout_s is from 1 to {}", Self::TIMEOUT_S_MAX));
        }
        if self.parallel == 0 || self.parallel > Limits::CEILING_MAX {
            return wrong(format!(
                "parallel is from 1 to {}; to stop deliveries, suspend the subscription",
                Limits::CEILING_MAX
            ));
        }
        if self.confirm_within_s == 0 || self.confirm_within_s > 30 * 24 * 3_600 {
            return wrong("confirm_within_s is from 1 to 2592000 (30 days)".into());
        }
        if self.headers.len() > Self::HEADERS_MAX {
            return wrong(format!("a subscription adds at most {} headers", Self::HEADERS_MAX));
        }
        for (name, value) in &self.headers {
            crate::headers::check_added(name, value)?;
        }
        let previous = self.previous_secret.as_ref().map(|(secret, _)| secret);
        for secret in self.secret.iter().chain(previous) {
            crate::signing::Secret::parse_signing(secret)?;
        }
        if self.auth.as_ref().is_some_and(|auth| !auth.fits()) {
            return wrong("\"auth\" has at most 4096 bytes, no line breaks, and no colon in the username".into());
        }
        self.filter.as_ref().map_or(Ok(()), Filter::check)
    }
}

#[derive(Debug, Clone)]
pub struct NewSubscription {
    pub name: String,
    /// The endpoint's name.
    pub endpoint: String,
    pub group: Option<GroupId>,
    pub state: SubscriptionState,
    pub spec: SubscriptionSpec,
}

impl NewSubscription {
    pub fn check(&self) -> Result<()> {
        check_name("a subscription", &self.name)?;
        self.spec.check()
    }
}

/// What to change; `None` leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionChange {
    pub state: Option<SubscriptionState>,
    /// The spec as a whole, as the caller has read and edited it.
    pub spec: Option<SubscriptionSpec>,
}
