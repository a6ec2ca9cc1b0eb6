//! The verbs of notify on the embedded store.

use async_trait::async_trait;
use malla_notify::{
    Accept, Accepted, Endpoint, EndpointChange, Event, EventFilter, EventPage, NewEndpoint, NewSubscription,
    Notification, NotificationFilter, NotificationPage, Notify, OwnEvent, PageMark, Route, Subscription,
    SubscriptionChange, SubscriptionId,
};
use malla_queue::{Act, Arrivals, Bulk, EventId, Move, Result, Scope, TaskId};

use super::writer::Durability::{Power, Process};
use super::{
    Sqlite, notify_accept as accept, notify_endpoints as endpoints, notify_events as events, notify_search as search,
    notify_subscriptions as subscriptions,
};
use crate::notify_rows::ROUTES;
use crate::packing::Incoming;

#[async_trait]
impl Notify for Sqlite {
    async fn create_endpoint(&self, endpoint: NewEndpoint, act: Act) -> Result<Endpoint> {
        endpoint.check()?;
        self.write("notify", Power, move |tx| endpoints::create(tx, &endpoint, &act)).await
    }

    async fn change_endpoint(&self, scope: &Scope, name: &str, change: EndpointChange, act: Act) -> Result<Endpoint> {
        change.options.as_ref().map_or(Ok(()), |options| options.check())?;
        let (scope, name) = (scope.clone(), name.to_owned());
        self.write("notify", Power, move |tx| endpoints::change(tx, &scope, &name, change.options.as_ref(), &act)).await
    }

    async fn delete_endpoint(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.write("notify", Power, move |tx| endpoints::delete(tx, &scope, &name, &act)).await
    }

    async fn endpoint(&self, scope: &Scope, name: &str) -> Result<Endpoint> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.read(move |conn| endpoints::get(conn, &scope, &name)).await
    }

    async fn endpoints(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Endpoint>> {
        let (scope, after) = (scope.clone(), after.map(str::to_owned));
        self.read(move |conn| endpoints::list(conn, &scope, after.as_deref(), limit)).await
    }

    async fn create_subscription(
        &self,
        scope: &Scope,
        subscription: NewSubscription,
        act: Act,
    ) -> Result<Subscription> {
        subscription.check()?;
        let scope = scope.clone();
        self.write("notify", Power, move |tx| subscriptions::create(tx, &scope, &subscription, &act)).await
    }

    async fn change_subscription(
        &self,
        scope: &Scope,
        name: &str,
        change: SubscriptionChange,
        act: Act,
    ) -> Result<Subscription> {
        change.spec.as_ref().map_or(Ok(()), |spec| spec.check())?;
        let (scope, name) = (scope.clone(), name.to_owned());
        self.write("notify", Power, move |tx| subscriptions::change(tx, &scope, &name, &change, &act)).await
    }

    async fn delete_subscription(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.write("notify", Power, move |tx| subscriptions::delete(tx, &scope, &name, &act)).await
    }

    async fn subscription(&self, scope: &Scope, name: &str) -> Result<Subscription> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.read(move |conn| subscriptions::get(conn, &scope, &name)).await
    }

    async fn subscriptions(
        &self,
        scope: &Scope,
        endpoint: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Subscription>> {
        let (scope, endpoint, after) = (scope.clone(), endpoint.map(str::to_owned), after.map(str::to_owned));
        self.read(move |conn| subscriptions::list(conn, &scope, endpoint.as_deref(), after.as_deref(), limit)).await
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        // Nearly always there is nothing to do, and the writer need not be asked.
        if self.read(|conn| subscriptions::lanes_to_sweep(conn, 1)).await?.is_empty() {
            return Ok(0);
        }
        self.write("notify", Process, move |tx| subscriptions::sweep(tx, limit)).await
    }

    async fn route(&self, endpoint: &str) -> Result<Option<Route>> {
        let endpoint = endpoint.to_owned();
        self.read(move |conn| super::in_one_view(conn, |conn| endpoints::route(conn, &endpoint))).await
    }

    async fn accept(&self, event: Accept) -> Result<Accepted> {
        let incoming = Incoming::pack(event).await?;
        let pending_max = self.limits.pending_max;
        self.write("accept", Power, move |tx| accept::accept(tx, &incoming, pending_max)).await
    }

    async fn own_events(&self, limit: usize) -> Result<Vec<OwnEvent>> {
        self.read(move |conn| accept::own_events(conn, limit)).await
    }

    async fn dispatch(&self, version: i64, events: Vec<(EventId, Vec<SubscriptionId>)>) -> Result<bool> {
        let pending_max = self.limits.pending_max;
        self.write("dispatch", Process, move |tx| accept::dispatch(tx, version, &events, pending_max)).await
    }

    async fn event(&self, scope: &Scope, id: EventId) -> Result<Event> {
        let scope = scope.clone();
        self.read(move |conn| events::event(conn, &scope, id)).await
    }

    async fn events_by_id(&self, ids: &[EventId]) -> Result<Vec<Event>> {
        let ids = ids.to_vec();
        self.read(move |conn| events::by_id(conn, &ids)).await
    }

    async fn events(&self, filter: &EventFilter, below: Option<EventId>, limit: usize) -> Result<EventPage> {
        let filter = filter.clone();
        self.read(move |conn| super::in_one_view(conn, |conn| events::events(conn, &filter, below, limit))).await
    }

    async fn notification(&self, scope: &Scope, id: TaskId) -> Result<Notification> {
        let scope = scope.clone();
        self.read(move |conn| events::get_notification(conn, &scope, id)).await
    }

    async fn notifications(
        &self,
        filter: &NotificationFilter,
        below: Option<PageMark>,
        limit: usize,
    ) -> Result<NotificationPage> {
        let filter = filter.clone();
        self.read(move |conn| super::in_one_view(conn, |conn| events::notifications(conn, &filter, below, limit))).await
    }

    async fn act_on_notifications(
        &self,
        filter: &NotificationFilter,
        below: Option<PageMark>,
        verb: Move,
        act: Act,
    ) -> Result<(Bulk, Option<PageMark>)> {
        let filter = filter.clone();
        let found = self
            .read(move |conn| super::in_one_view(conn, |conn| events::next_of_all(conn, &filter, below, verb)))
            .await?;
        self.write("act", Power, move |tx| events::act_on(tx, found.as_ref(), verb, &act)).await
    }

    async fn index(&self, limit: usize) -> Result<u64> {
        let batch = self.read(move |conn| super::in_one_view(conn, |conn| search::next_batch(conn, limit))).await?;
        match batch {
            Some(batch) => self.with_words(move |words| words.add(&batch)).await,
            None => Ok(0),
        }
    }

    fn changes(&self) -> Arrivals {
        self.signals.subscribe(ROUTES)
    }
}
