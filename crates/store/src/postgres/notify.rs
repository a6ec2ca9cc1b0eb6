//! The verbs of notify on the shared store.

use std::sync::Arc;

use async_trait::async_trait;
use malla_notify::{
    Accept, Accepted, Endpoint, EndpointChange, Event, EventFilter, EventPage, NewEndpoint, NewSubscription,
    Notification, NotificationFilter, NotificationPage, Notify, OwnEvent, PageMark, Route, Subscription,
    SubscriptionChange, SubscriptionId,
};
use malla_queue::{Act, Arrivals, Bulk, Error, EventId, Move, Result, Scope, TaskId};

use super::perform::{first_answer, settle};
use super::pool::with_retries;
use super::{
    Postgres, notify_accept as accept, notify_endpoints as endpoints, notify_events as events, notify_search as search,
    notify_subscriptions as subscriptions, one_view, point, said, verb,
};
use crate::notify_rows::ROUTES;
use crate::packing::Incoming;

impl Postgres {
    /// Tells everybody, here and on other nodes, that endpoints or subscriptions changed.
    fn routes_changed(&self, mut rouse: Vec<String>) {
        rouse.push(ROUTES.to_owned());
        self.nudger.rouse(rouse);
    }
}

#[async_trait]
impl Notify for Postgres {
    async fn create_endpoint(&self, endpoint: NewEndpoint, act: Act) -> Result<Endpoint> {
        endpoint.check()?;
        let act = Act { group: endpoint.group, ..act };
        let made = verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            if let Some(answer) = first_answer(&tx, &act, now).await? {
                return Ok(answer);
            }
            let made = endpoints::create(&tx, &endpoint, now).await?;
            settle(tx, &act, now, "notify", made).await
        });
        self.routes_changed(Vec::new());
        Ok(made)
    }

    async fn change_endpoint(&self, scope: &Scope, name: &str, change: EndpointChange, act: Act) -> Result<Endpoint> {
        change.options.as_ref().map_or(Ok(()), |options| options.check())?;
        let changed = verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            let found = endpoints::lock(&tx, scope, name).await?;
            let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
            if let Some(answer) = first_answer(&tx, &act, now).await? {
                return Ok(answer);
            }
            let found = found.ok_or_else(|| Error::NotFound(format!("endpoint {name}")))?;
            let changed = endpoints::change(&tx, &found, change.options.as_ref()).await?;
            settle(tx, &act, now, "notify", changed).await
        });
        self.routes_changed(Vec::new());
        Ok(changed)
    }

    async fn delete_endpoint(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            let found = endpoints::lock(&tx, scope, name).await?;
            let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
            if let Some(()) = first_answer(&tx, &act, now).await? {
                return Ok(());
            }
            let found = found.ok_or_else(|| Error::NotFound(format!("endpoint {name}")))?;
            endpoints::delete(&tx, &found).await?;
            settle(tx, &act, now, "notify", ()).await
        });
        self.routes_changed(Vec::new());
        Ok(())
    }

    async fn endpoint(&self, scope: &Scope, name: &str) -> Result<Endpoint> {
        endpoints::get(&self.client().await?, scope, name).await.map_err(said)
    }

    async fn endpoints(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Endpoint>> {
        endpoints::list(&self.client().await?, scope, after, limit).await.map_err(said)
    }

    async fn create_subscription(
        &self,
        scope: &Scope,
        subscription: NewSubscription,
        act: Act,
    ) -> Result<Subscription> {
        subscription.check()?;
        let act = Act { group: subscription.group, ..act };
        let made = verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            if let Some(answer) = first_answer(&tx, &act, now).await? {
                return Ok(answer);
            }
            let made = subscriptions::create(&tx, scope, &subscription, now).await?;
            settle(tx, &act, now, "notify", made).await
        });
        self.routes_changed(Vec::new());
        Ok(made)
    }

    async fn change_subscription(
        &self,
        scope: &Scope,
        name: &str,
        change: SubscriptionChange,
        act: Act,
    ) -> Result<Subscription> {
        change.spec.as_ref().map_or(Ok(()), |spec| spec.check())?;
        let (changed, rouse) = verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            let found = subscriptions::lock(&tx, scope, name).await?;
            let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
            if let Some(answer) = first_answer(&tx, &act, now).await? {
                return Ok((answer, Vec::new()));
            }
            let found = found.ok_or_else(|| Error::NotFound(format!("subscription {name}")))?;
            let (changed, rouse) = subscriptions::change(&tx, &found, &change, now).await?;
            Ok((settle(tx, &act, now, "notify", changed).await?, rouse))
        });
        self.routes_changed(rouse);
        Ok(changed)
    }

    async fn delete_subscription(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        verb!(self, "notify", |client, now| async {
            let tx = client.transaction().await?;
            let found = subscriptions::lock(&tx, scope, name).await?;
            let act = Act { group: found.as_ref().and_then(|found| found.group), ..act.clone() };
            if let Some(()) = first_answer(&tx, &act, now).await? {
                return Ok(());
            }
            let found = found.ok_or_else(|| Error::NotFound(format!("subscription {name}")))?;
            subscriptions::delete(&tx, &found).await?;
            settle(tx, &act, now, "notify", ()).await
        });
        self.routes_changed(Vec::new());
        Ok(())
    }

    async fn subscription(&self, scope: &Scope, name: &str) -> Result<Subscription> {
        subscriptions::get(&self.client().await?, scope, name).await.map_err(said)
    }

    async fn subscriptions(
        &self,
        scope: &Scope,
        endpoint: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Subscription>> {
        subscriptions::list(&self.client().await?, scope, endpoint, after, limit).await.map_err(said)
    }

    async fn sweep(&self, limit: usize) -> Result<u64> {
        let (swept, rouse) = verb!(self, "notify", |client, now| subscriptions::sweep(&mut client, limit, now));
        self.nudger.rouse(rouse);
        Ok(swept)
    }

    async fn route(&self, endpoint: &str) -> Result<Option<Route>> {
        let mut client = self.client().await?;
        let view = one_view(&mut client).await?;
        endpoints::route(&view, endpoint).await.map_err(said)
    }

    async fn accept(&self, event: Accept) -> Result<Accepted> {
        let incoming = Arc::new(Incoming::pack(event).await?);
        let way = if incoming.once.is_some() { &self.keyed_accepts } else { &self.accepts };
        let mut answers = way.call(vec![incoming]).await?;
        answers.pop().unwrap_or_else(|| Err(Error::Internal("the server did not answer for an event".into())))
    }

    async fn own_events(&self, limit: usize) -> Result<Vec<OwnEvent>> {
        accept::own_events(&self.client().await?, limit).await.map_err(said)
    }

    async fn dispatch(&self, version: i64, events: Vec<(EventId, Vec<SubscriptionId>)>) -> Result<bool> {
        let limit = self.limits.pending_max;
        let (done, rouse) =
            verb!(self, "dispatch", |client, now| accept::dispatch(&mut client, version, &events, limit, now));
        self.nudger.rouse(rouse);
        Ok(done)
    }

    async fn event(&self, scope: &Scope, id: EventId) -> Result<Event> {
        events::event(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn events_by_id(&self, ids: &[EventId]) -> Result<Vec<Event>> {
        events::by_id(&self.client().await?, ids).await.map_err(said)
    }

    async fn events(&self, filter: &EventFilter, below: Option<EventId>, limit: usize) -> Result<EventPage> {
        events::events(&self.client().await?, filter, below, limit).await.map_err(said)
    }

    async fn notification(&self, scope: &Scope, id: TaskId) -> Result<Notification> {
        events::get_notification(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn notifications(
        &self,
        filter: &NotificationFilter,
        below: Option<PageMark>,
        limit: usize,
    ) -> Result<NotificationPage> {
        events::notifications(&self.client().await?, filter, below, limit).await.map_err(said)
    }

    async fn act_on_notifications(
        &self,
        filter: &NotificationFilter,
        below: Option<PageMark>,
        verb: Move,
        act: Act,
    ) -> Result<(Bulk, Option<PageMark>)> {
        let (done, rouse) =
            verb!(self, "act", |client, now| events::act_on(&mut client, filter, below, verb, &act, now));
        self.nudger.rouse(rouse);
        Ok(done)
    }

    async fn index(&self, limit: usize) -> Result<u64> {
        Ok(verb!(self, "notify", |client, now| search::index(&mut client, limit, now)))
    }

    fn changes(&self) -> Arrivals {
        self.signals.subscribe(ROUTES)
    }
}
