//! An application posts an event to an endpoint and forgets it; every subscriber gets it, or a person sees why not.
//!
//! This room holds the words (endpoint, event, subscription, notification), the verbs as a trait, and what happens
//! outside the store: taking events in and delivering them. A notification is a task: its lane is the subscription, so
//! retries, ceilings, pauses, history and crash recovery are the queue's.

mod endpoint;
mod event;
mod filter;
mod notification;
mod subscription;
mod target;
mod verbs;

pub use endpoint::{Endpoint, EndpointChange, EndpointId, EndpointOptions, MqttSource, NewEndpoint, Protocol, SYSTEM};
pub use event::{Event, EventFilter, EventPage, EventSummary, NewEvent};
pub use filter::{Condition, Filter};
pub use notification::{Notification, NotificationFilter, NotificationPage, PageMark};
pub use subscription::{
    Auth, CloudEvents, NewSubscription, Subscription, SubscriptionChange, SubscriptionId, SubscriptionSpec,
    SubscriptionState, lane_of,
};
pub use target::Target;
pub use verbs::{Accept, Accepted, Notify, OwnEvent, Route};

/// The room whose lanes are subscriptions.
pub const ROOM: &str = "notify";
/// The kind of a task that is a notification.
pub const DELIVER: &str = "notify.deliver";
