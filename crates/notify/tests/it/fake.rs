//! A store in memory, as far as this room's outside needs one.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use malla_notify::{
    Accept, Accepted, Endpoint, EndpointChange, EndpointId, EndpointOptions, Event, EventFilter, EventPage,
    NewEndpoint, NewSubscription, Notification, NotificationFilter, NotificationPage, Notify, OwnEvent, PageMark,
    Route, Subscription, SubscriptionChange, SubscriptionId, SubscriptionSpec, SubscriptionState,
};
use malla_queue::{Act, Arrivals, Bulk, Error, EventId, GroupId, Move, Result, Scope, TaskId, UnixMs};
use tokio::sync::{Semaphore, watch};

pub(crate) struct Fake {
    pub(crate) routes: Mutex<HashMap<String, Route>>,
    pub(crate) events: Mutex<HashMap<EventId, Event>>,
    pub(crate) own: Mutex<Vec<OwnEvent>>,
    pub(crate) accepted: Mutex<Vec<Accept>>,
    /// Under which keys events came.
    keys: Mutex<HashMap<String, EventId>>,
    pub(crate) dispatched: Mutex<Vec<(EventId, Vec<SubscriptionId>)>>,
    pub(crate) acts: Mutex<Vec<(SubscriptionChange, Act)>>,
    /// What every verb answers instead of doing anything.
    pub(crate) trouble: Mutex<Option<Error>>,
    /// So many times `accept` and `dispatch` say that the route is old.
    pub(crate) stale: AtomicUsize,
    pub(crate) reads: AtomicUsize,
    /// Each read of events takes a permit.
    pub(crate) gate: Semaphore,
    changes: watch::Sender<u64>,
    ids: AtomicI64,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            routes: Mutex::default(),
            events: Mutex::default(),
            own: Mutex::default(),
            accepted: Mutex::default(),
            keys: Mutex::default(),
            dispatched: Mutex::default(),
            acts: Mutex::default(),
            trouble: Mutex::default(),
            stale: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            gate: Semaphore::new(1_000),
            changes: watch::channel(0).0,
            ids: AtomicI64::new(TaskId::first_at(UnixMs(1_700_000_000_000)).0),
        }
    }
}

impl Fake {
    pub(crate) fn next_id(&self) -> i64 {
        self.ids.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn endpoint(&self, name: &str, options: EndpointOptions) {
        let id = EndpointId(self.next_id());
        let endpoint =
            Endpoint { id, name: name.into(), group: None, options, created_at: UnixMs(0), version: self.next_id() };
        self.routes.lock().expect("no panic").insert(name.into(), Route { endpoint, subscriptions: Vec::new() });
        self.tick();
    }

    pub(crate) fn subscribe(
        &self,
        endpoint: &str,
        name: &str,
        group: Option<GroupId>,
        spec: SubscriptionSpec,
    ) -> SubscriptionId {
        let id = SubscriptionId(self.next_id());
        let mut routes = self.routes.lock().expect("no panic");
        let route = routes.get_mut(endpoint).expect("an endpoint");
        route.endpoint.version = self.next_id();
        route.subscriptions.push(Subscription {
            id,
            name: name.into(),
            endpoint: route.endpoint.id,
            endpoint_name: endpoint.into(),
            group,
            state: SubscriptionState::Active,
            spec,
            created_at: UnixMs(0),
        });
        drop(routes);
        self.tick();
        id
    }

    /// Changes a subscription and announces it.
    pub(crate) fn change(&self, name: &str, change: impl FnOnce(&mut Subscription)) {
        let mut routes = self.routes.lock().expect("no panic");
        let mut all = routes.values_mut().flat_map(|route| &mut route.subscriptions);
        change(all.find(|one| one.name == name).expect("a subscription"));
        drop(routes);
        self.tick();
    }

    pub(crate) fn unsubscribe(&self, name: &str) {
        for route in self.routes.lock().expect("no panic").values_mut() {
            route.subscriptions.retain(|one| one.name != name);
        }
        self.tick();
    }

    fn tick(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    fn trouble(&self) -> Result<()> {
        self.trouble.lock().expect("no panic").clone().map_or(Ok(()), Err)
    }

    fn is_stale(&self) -> bool {
        self.stale.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
    }
}

fn unused() -> ! {
    panic!("no test of this room needs this verb")
}

#[async_trait]
impl Notify for Fake {
    async fn change_subscription(
        &self,
        _scope: &Scope,
        name: &str,
        change: SubscriptionChange,
        act: Act,
    ) -> Result<Subscription> {
        self.trouble()?;
        self.change(name, |one| one.state = change.state.unwrap_or(one.state));
        self.acts.lock().expect("no panic").push((change, act));
        self.subscription(&Scope::All, name).await
    }

    async fn subscription(&self, _scope: &Scope, name: &str) -> Result<Subscription> {
        self.trouble()?;
        let routes = self.routes.lock().expect("no panic");
        let mut all = routes.values().flat_map(|route| &route.subscriptions);
        all.find(|one| one.name == name).cloned().ok_or_else(|| Error::NotFound(name.into()))
    }

    async fn route(&self, endpoint: &str) -> Result<Option<Route>> {
        self.trouble()?;
        self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(self.routes.lock().expect("no panic").get(endpoint).cloned())
    }

    async fn accept(&self, event: Accept) -> Result<Accepted> {
        self.trouble()?;
        if self.is_stale() {
            return Ok(Accepted::Stale);
        }
        let mut keys = self.keys.lock().expect("no panic");
        if let Some(id) = event.once.as_ref().and_then(|once| keys.get(&once.key)) {
            return Ok(Accepted::Again(*id));
        }
        let id = EventId(self.next_id());
        keys.extend(event.once.as_ref().map(|once| (once.key.clone(), id)));
        self.accepted.lock().expect("no panic").push(event);
        Ok(Accepted::Safe(id))
    }

    async fn own_events(&self, limit: usize) -> Result<Vec<OwnEvent>> {
        self.trouble()?;
        Ok(self.own.lock().expect("no panic").iter().take(limit).cloned().collect())
    }

    async fn dispatch(&self, version: i64, events: Vec<(EventId, Vec<SubscriptionId>)>) -> Result<bool> {
        let current = self.routes.lock().expect("no panic")[malla_notify::SYSTEM].endpoint.version;
        if self.is_stale() || version != current {
            return Ok(false);
        }
        self.own.lock().expect("no panic").retain(|own| !events.iter().any(|(id, _)| *id == own.id));
        self.dispatched.lock().expect("no panic").extend(events);
        Ok(true)
    }

    async fn events_by_id(&self, ids: &[EventId]) -> Result<Vec<Event>> {
        self.trouble()?;
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.gate.acquire().await.expect("an open gate").forget();
        let events = self.events.lock().expect("no panic");
        Ok(ids.iter().filter_map(|id| events.get(id).cloned()).collect())
    }

    fn changes(&self) -> Arrivals {
        self.changes.subscribe()
    }

    async fn create_endpoint(&self, _: NewEndpoint, _: Act) -> Result<Endpoint> {
        unused()
    }
    async fn change_endpoint(&self, _: &Scope, _: &str, _: EndpointChange, _: Act) -> Result<Endpoint> {
        unused()
    }
    async fn delete_endpoint(&self, _: &Scope, _: &str, _: Act) -> Result<()> {
        unused()
    }
    async fn endpoint(&self, _: &Scope, _: &str) -> Result<Endpoint> {
        unused()
    }
    async fn endpoints(&self, _: &Scope, _: Option<&str>, _: usize) -> Result<Vec<Endpoint>> {
        unused()
    }
    async fn create_subscription(&self, _: &Scope, _: NewSubscription, _: Act) -> Result<Subscription> {
        unused()
    }
    async fn delete_subscription(&self, _: &Scope, _: &str, _: Act) -> Result<()> {
        unused()
    }
    async fn subscriptions(&self, _: &Scope, _: Option<&str>, _: Option<&str>, _: usize) -> Result<Vec<Subscription>> {
        unused()
    }
    async fn sweep(&self, _: usize) -> Result<u64> {
        unused()
    }
    async fn event(&self, _: &Scope, _: EventId) -> Result<Event> {
        unused()
    }
    async fn events(&self, _: &EventFilter, _: Option<EventId>, _: usize) -> Result<EventPage> {
        unused()
    }
    async fn notification(&self, _: &Scope, _: TaskId) -> Result<Notification> {
        unused()
    }
    async fn notifications(&self, _: &NotificationFilter, _: Option<PageMark>, _: usize) -> Result<NotificationPage> {
        unused()
    }
    async fn act_on_notifications(
        &self,
        _: &NotificationFilter,
        _: Option<PageMark>,
        _: Move,
        _: Act,
    ) -> Result<(Bulk, Option<PageMark>)> {
        unused()
    }
    async fn index(&self, _: usize) -> Result<u64> {
        unused()
    }
}
