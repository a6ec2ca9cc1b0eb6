//! Endpoints, events, subscriptions and notifications as they travel.

mod alert;
mod endpoint;
mod event;
mod filter;
mod notification;
mod statistics;
mod subscription;

pub use alert::{AlertChange, AlertChannel, AlertChannelView, AlertRule, AlertTested, AlertView, NewAlert};
pub use endpoint::{EndpointChange, EndpointView, MqttSettings, MqttView, NewEndpoint, Protocol};
pub use event::{Accepted, EventDetail, EventQuery, EventTailQuery, EventView};
pub use filter::Condition;
pub use notification::{NotificationDetail, NotificationQuery, NotificationTailQuery, NotificationView};
pub use statistics::{MonthFigures, Statistics, StatisticsQuery, StatisticsSummary, Step, StepFigures};
pub use subscription::{
    Auth, AuthKind, CloudEvents, NewSubscription, SubscriptionChange, SubscriptionMade, SubscriptionQuery,
    SubscriptionState, SubscriptionView,
};
