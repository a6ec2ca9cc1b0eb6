//! An application posts an event to an endpoint and forgets it; every subscriber gets it, or a person sees why not.
//!
//! This room holds the words (endpoint, event, subscription, notification), the verbs as a trait, and what happens
//! outside the store: taking events in and delivering them. A notification is a task: its lane is the subscription, so
//! retries, ceilings, pauses, history and crash recovery are the queue's.

mod alert;
mod cloudevents;
mod delivery;
mod endpoint;
mod event;
mod filter;
mod headers;
mod intake;
mod known;
pub mod mqtt;
mod notification;
mod own;
mod recent;
pub mod signing;
mod statistics;
mod subscription;
mod summary;
mod target;
mod verbs;

pub use alert::{
    ALERT, ALERT_ROOM, ALERTS_MAX, Alert, AlertId, AlertSender, AlertSpec, Alerts, Channel, Mail, NewAlert, Notice,
    NoticeState, Rule, Watch, check_subject, test_notices,
};
pub use delivery::{Attempt, Deliverer, Observer, Publish};
pub use endpoint::{Endpoint, EndpointChange, EndpointId, EndpointOptions, MqttSource, NewEndpoint, Protocol, SYSTEM};
pub use event::{Event, EventFilter, EventPage, EventSummary, NewEvent};
pub use filter::{Condition, Filter, Reading};
pub use intake::{Admission, Credentials, Intake, IntakeError};
pub use notification::{Notification, NotificationFilter, NotificationPage, PageMark};
pub use own::Dispatcher;
pub use recent::RecentEvents;
pub use statistics::{
    Backlog, Counted, Figures, Latencies, Recorder, STEPS_MAX, Statistics, Step, Subject, check_range,
};
pub use subscription::{
    Auth, CloudEvents, NewSubscription, Subscription, SubscriptionChange, SubscriptionId, SubscriptionSpec,
    SubscriptionState, lane_of,
};
pub use summary::{Month, Summary, summarize};
pub use target::Target;
pub use verbs::{Accept, Accepted, Notify, OwnEvent, Route};

/// The room whose lanes are subscriptions.
pub const ROOM: &str = "notify";
/// The kind of a task that is a notification.
pub const DELIVER: &str = "notify.deliver";
