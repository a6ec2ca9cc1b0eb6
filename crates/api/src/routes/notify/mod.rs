//! Events in, endpoints, subscriptions and notifications.

mod alert_spec;
pub(super) mod alerts;
pub(super) mod bulk;
mod endpoint_options;
pub(super) mod endpoints;
pub(super) mod events;
mod headers;
pub(super) mod intake;
pub(super) mod notifications;
pub(super) mod statistics;
mod subscription_spec;
pub(super) mod subscriptions;
pub(super) mod tail;
mod told;
