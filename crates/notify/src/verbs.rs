//! The verbs of this room. Each is one whole transaction; every change takes an [`Act`] and writes its audit line with it.

use async_trait::async_trait;
use malla_queue::{Act, Bulk, EventId, GroupId, Move, Once, Result, Scope, TaskId};

use crate::{
    Endpoint, EndpointChange, EndpointId, Event, EventFilter, EventPage, NewEndpoint, NewEvent, NewSubscription,
    Notification, NotificationFilter, NotificationPage, PageMark, Subscription, SubscriptionChange, SubscriptionId,
};

/// An endpoint with its subscriptions, disabled ones left out: what taking an event in needs to know.
#[derive(Debug, Clone)]
pub struct Route {
    pub endpoint: Endpoint,
    pub subscriptions: Vec<Subscription>,
}

/// An event to be taken in, with the subscriptions that want it as [`Route`] told at `version`.
#[derive(Debug, Clone)]
pub struct Accept {
    pub endpoint: EndpointId,
    pub version: i64,
    pub event: NewEvent,
    pub to: Vec<SubscriptionId>,
    /// The publisher's key: under it, an event is taken in once.
    pub once: Option<Once>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It and its notifications are safe.
    Safe(EventId),
    /// The same was taken in before under its key, as this one, and is safe: nothing was written.
    Again(EventId),
    /// The endpoint or a subscription to it has changed since: nothing was written; read the route again.
    Stale,
}

/// An event of Malla's own that has no notifications yet.
#[derive(Debug, Clone)]
pub struct OwnEvent {
    pub id: EventId,
    pub kind: String,
    pub group: Option<GroupId>,
    pub body: Vec<u8>,
}

#[async_trait]
pub trait Notify: Send + Sync + 'static {
    /// A name is unique in the house.
    async fn create_endpoint(&self, endpoint: NewEndpoint, act: Act) -> Result<Endpoint>;
    async fn change_endpoint(&self, scope: &Scope, name: &str, change: EndpointChange, act: Act) -> Result<Endpoint>;
    /// Refused with [`Error::Taken`](malla_queue::Error::Taken) while it has subscriptions. Its events stay until they are old.
    async fn delete_endpoint(&self, scope: &Scope, name: &str, act: Act) -> Result<()>;
    /// The system endpoint is seen by everybody.
    async fn endpoint(&self, scope: &Scope, name: &str) -> Result<Endpoint>;
    /// In the order of names, after `after`.
    async fn endpoints(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Endpoint>>;

    /// Makes the subscription and its lane. The endpoint must be seen by `scope`.
    async fn create_subscription(&self, scope: &Scope, subscription: NewSubscription, act: Act)
    -> Result<Subscription>;
    /// `suspended` pauses its lane, `active` opens it, `disabled` pauses it and leaves what waits to [`Notify::sweep`].
    /// What waited then never goes out: out of `disabled` it is refused with
    /// [`Error::Taken`](malla_queue::Error::Taken) as long as more is left of it than one step discards.
    async fn change_subscription(
        &self,
        scope: &Scope,
        name: &str,
        change: SubscriptionChange,
        act: Act,
    ) -> Result<Subscription>;
    /// Only a disabled one with nothing left waiting; [`Error::Taken`](malla_queue::Error::Taken) otherwise. Its finished
    /// notifications stay until they are old.
    async fn delete_subscription(&self, scope: &Scope, name: &str, act: Act) -> Result<()>;
    async fn subscription(&self, scope: &Scope, name: &str) -> Result<Subscription>;
    async fn subscriptions(
        &self,
        scope: &Scope,
        endpoint: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Subscription>>;

    /// Discards what waits in disabled subscriptions, one bounded step. Returns how many; zero when nothing is left.
    async fn sweep(&self, limit: usize) -> Result<u64>;

    /// Who gets what is posted to this endpoint; `None` if there is no such endpoint.
    async fn route(&self, endpoint: &str) -> Result<Option<Route>>;
    /// Takes an event in, with a notification for each of `to`: all or nothing. When it is [`Accepted::Safe`], it
    /// survives a crash. Calls that wait at the same time share a transaction. The key is kept with the event, or not at
    /// all; another event under a key that is in use is refused with
    /// [`Error::KeyReused`](malla_queue::Error::KeyReused).
    async fn accept(&self, event: Accept) -> Result<Accepted>;

    /// Events of Malla's own that have no notifications yet, oldest first.
    async fn own_events(&self, limit: usize) -> Result<Vec<OwnEvent>>;
    /// Gives each of these events its notifications and takes it off the list; one that is off it already is passed over.
    async fn dispatch(&self, version: i64, events: Vec<(EventId, Vec<SubscriptionId>)>) -> Result<bool>;

    async fn event(&self, scope: &Scope, id: EventId) -> Result<Event>;
    /// For delivery: many at once, whatever the group; those that are gone are left out.
    async fn events_by_id(&self, ids: &[EventId]) -> Result<Vec<Event>>;
    async fn events(&self, filter: &EventFilter, below: Option<EventId>, limit: usize) -> Result<EventPage>;

    async fn notification(&self, scope: &Scope, id: TaskId) -> Result<Notification>;
    async fn notifications(
        &self,
        filter: &NotificationFilter,
        below: Option<PageMark>,
        limit: usize,
    ) -> Result<NotificationPage>;
    /// A person's verb on all that match and can take it, newest first, one bounded step from `below` on. The next step's
    /// beginning is a [`PageMark`].
    async fn act_on_notifications(
        &self,
        filter: &NotificationFilter,
        below: Option<PageMark>,
        verb: Move,
        act: Act,
    ) -> Result<(Bulk, Option<PageMark>)>;

    /// Makes the words of newly arrived bodies searchable, one bounded step; what is not indexed yet is found by reading.
    /// Returns how many events it took; zero when it has caught up.
    async fn index(&self, limit: usize) -> Result<u64>;

    /// A number that changes whenever an endpoint or subscription may have changed, here or on another node.
    fn changes(&self) -> malla_queue::Arrivals;
}
