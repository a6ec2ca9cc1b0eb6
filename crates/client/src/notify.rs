//! Endpoints, events, subscriptions and notifications.

use malla_protocol::{
    Accepted, AllQuery, Bulk, EndpointChange, EndpointView, EventDetail, EventQuery, EventTailQuery, EventView,
    NewEndpoint, NewSubscription, NotificationDetail, NotificationQuery, NotificationTailQuery, NotificationView, Page,
    PageQuery, SubscriptionChange, SubscriptionMade, SubscriptionQuery, SubscriptionView,
};
use reqwest::Method;

use crate::error::{Error, Result};
use crate::tail::{Tail, follow};
use crate::tasks::{Listed, Verb};
use crate::transport::{Client, Raw};

/// An event to be posted. The client's own token stays out of it: an endpoint has its own.
#[derive(Clone, Default)]
pub struct SendEvent {
    /// `PUT` or `PATCH` instead of `POST`.
    pub method: Option<String>,
    /// Without the question mark.
    pub query: Option<String>,
    pub content_type: Option<String>,
    pub headers: Vec<(String, String)>,
    /// The endpoint's token, if it asks for one.
    pub token: Option<String>,
    pub body: Vec<u8>,
}

impl Client {
    /// In the order of their names.
    pub async fn endpoints(&self, page: &PageQuery) -> Result<Page<EndpointView>> {
        self.get(&["api", "v1", "endpoints"], page).await
    }

    pub async fn endpoint(&self, name: &str) -> Result<EndpointView> {
        self.get(&["api", "v1", "endpoints", name], &()).await
    }

    pub async fn create_endpoint(&self, endpoint: &NewEndpoint) -> Result<EndpointView> {
        self.write(Method::POST, &["api", "v1", "endpoints"], endpoint).await
    }

    pub async fn change_endpoint(&self, name: &str, change: &EndpointChange) -> Result<EndpointView> {
        self.write(Method::PATCH, &["api", "v1", "endpoints", name], change).await
    }

    pub async fn delete_endpoint(&self, name: &str) -> Result<()> {
        self.delete(&["api", "v1", "endpoints", name]).await
    }

    /// In the order of their names.
    pub async fn subscriptions(&self, query: &SubscriptionQuery, page: &PageQuery) -> Result<Page<SubscriptionView>> {
        self.get(&["api", "v1", "subscriptions"], &Listed { query, page }).await
    }

    pub async fn subscription(&self, name: &str) -> Result<SubscriptionView> {
        self.get(&["api", "v1", "subscriptions", name], &()).await
    }

    /// A secret that the server was asked to make is in the answer and nowhere else.
    pub async fn create_subscription(&self, subscription: &NewSubscription) -> Result<SubscriptionMade> {
        self.write(Method::POST, &["api", "v1", "subscriptions"], subscription).await
    }

    /// A secret that the server was asked to make is in the answer and nowhere else.
    pub async fn change_subscription(&self, name: &str, change: &SubscriptionChange) -> Result<SubscriptionMade> {
        self.write(Method::PATCH, &["api", "v1", "subscriptions", name], change).await
    }

    pub async fn delete_subscription(&self, name: &str) -> Result<()> {
        self.delete(&["api", "v1", "subscriptions", name]).await
    }

    /// Posts an event. When this returns, it survives a crash of the server. When the server falls silent half way,
    /// it is not known whether the event was taken in, and no other server is asked.
    pub async fn send_event(&self, endpoint: &str, event: SendEvent) -> Result<Accepted> {
        let name = event.method.as_deref().unwrap_or("POST");
        let method = Method::from_bytes(name.as_bytes())
            .map_err(|_| Error::Protocol(format!("\"{name}\" is not a method: use POST, PUT or PATCH")))?;
        let kind = event.content_type.map(|kind| ("content-type".to_owned(), kind));
        let headers = event.headers.into_iter().chain(kind).collect();
        let SendEvent { query, token, body, .. } = event;
        self.write_raw(Raw { method, path: &["in", endpoint], query, headers, token, body }).await
    }

    /// Newest first.
    pub async fn events(&self, query: &EventQuery, page: &PageQuery) -> Result<Page<EventView>> {
        self.get(&["api", "v1", "events"], &Listed { query, page }).await
    }

    pub async fn event(&self, id: &str) -> Result<EventDetail> {
        self.get(&["api", "v1", "events", id], &()).await
    }

    /// Byte for byte.
    pub async fn event_body(&self, id: &str) -> Result<Vec<u8>> {
        self.get_raw(&["api", "v1", "events", id, "body"], &()).await
    }

    /// Newest first.
    pub async fn notifications(&self, query: &NotificationQuery, page: &PageQuery) -> Result<Page<NotificationView>> {
        self.get(&["api", "v1", "notifications"], &Listed { query, page }).await
    }

    pub async fn notification(&self, id: &str) -> Result<NotificationDetail> {
        self.get(&["api", "v1", "notifications", id], &()).await
    }

    /// [`Verb::Resend`], [`Verb::Discard`] or [`Verb::Confirm`].
    pub async fn act_on_notification(&self, id: &str, verb: Verb) -> Result<NotificationView> {
        self.act_at(Method::POST, &["api", "v1", "notifications", id, verb.name()], &()).await
    }

    /// One request's worth; while the answer says `more`, ask again. An empty query means every notification there
    /// is; [`Verb::Resend`] takes those that failed unless the query names states.
    /// `from` is the `next_cursor` of the step before, if there was one.
    pub async fn act_on_notifications(
        &self,
        query: &NotificationQuery,
        verb: Verb,
        from: Option<String>,
    ) -> Result<Bulk> {
        let page = &AllQuery { all: (*query == NotificationQuery::default()).then_some(true), cursor: from };
        self.act_at(Method::POST, &["api", "v1", "notifications", verb.name()], &Listed { query, page }).await
    }

    /// Events that arrive from now on. When this returns, watching has begun.
    pub async fn tail_events(&self, query: &EventTailQuery) -> Result<Tail<EventView>> {
        Ok(follow(self.open(&["api", "v1", "events", "tail"], query).await?, "event"))
    }

    /// Notifications as they are made and change state. When this returns, watching has begun.
    pub async fn tail_notifications(&self, query: &NotificationTailQuery) -> Result<Tail<NotificationView>> {
        Ok(follow(self.open(&["api", "v1", "notifications", "tail"], query).await?, "notification"))
    }
}
