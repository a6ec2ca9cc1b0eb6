//! Alerts: rules on how deliveries go, and who is told.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::whole::{given, given_whole, whole};

/// What an alert watches for; without a subscription, in any of its group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum AlertRule {
    /// At least `count` attempts failed in the last `window_s` seconds.
    Failures {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subscription: Option<String>,
        count: u64,
        window_s: u64,
    },
    /// A notification has been due for longer, and waits.
    Backlog {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subscription: Option<String>,
        older_than_s: u64,
    },
    /// It is active, has had something to deliver for so long, and no attempt has ended.
    Stuck {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subscription: Option<String>,
        for_s: u64,
    },
}

/// Where notices go. (Not `Debug`, like all that holds a secret here: it must not print itself.)
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum AlertChannel {
    Email {
        to: String,
    },
    Webhook {
        url: String,
        /// A Standard Webhooks secret to sign with: `whsec_…`, or `whsk_…` for ed25519. In a change of an address that
        /// is there already, leaving it out keeps it and null clears it.
        #[schema(value_type = Option<String>)]
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        secret: Option<Option<String>>,
    },
}

/// Where notices go, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum AlertChannelView {
    Email {
        to: String,
    },
    Webhook {
        url: String,
        /// Whether it has a secret to sign with.
        signed: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AlertView {
    pub name: String,
    /// The name of the group that owns it; null if it belongs to the house and looks at all subscriptions.
    pub group: Option<String>,
    pub rule: AlertRule,
    pub to: Vec<AlertChannelView>,
    /// After it fired, it does not fire again for this long.
    pub quiet_s: u64,
    pub enabled: bool,
    /// The subscriptions for which it fires now; at most twenty are named.
    pub firing: Vec<String>,
    pub last_fired_at: Option<String>,
    pub created_at: String,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAlert {
    /// 1 to 128 letters, digits and - _ .
    pub name: String,
    /// The group that owns it; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub rule: AlertRule,
    pub to: Vec<AlertChannel>,
    /// An hour, if not given.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub quiet_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// What to change; what is not given stays.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<AlertRule>,
    /// All of them: one that is not given goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<AlertChannel>>,
    /// Null sets it back to an hour.
    #[schema(value_type = Option<u64>)]
    #[serde(default, deserialize_with = "given_whole", skip_serializing_if = "Option::is_none")]
    pub quiet_s: Option<Option<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// The tasks that carry a test notice, one for each address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AlertTested {
    pub tasks: Vec<String>,
}
