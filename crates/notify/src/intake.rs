//! Takes events in: who may post what to which endpoint, which subscriptions want it, and then the durable write.

use std::sync::Arc;

use malla_queue::{Error, EventId, Once, UnixMs};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::known::Known;
use crate::signing::{self, Secret, Signed};
use crate::{
    Accept, Accepted, EndpointOptions, Event, NewEvent, Notify, Protocol, Reading, RecentEvents, Recorder, Route,
    SubscriptionId, headers,
};

/// Routes kept in memory.
const ROUTES_MAX: usize = 10_000;
/// How often an endpoint may change under an event before the sender is asked to come back.
const TRIES_MAX: usize = 5;
/// Bytes of an event's headers, and of its query.
const HEADERS_BYTES_MAX: usize = 64 * 1024;
const QUERY_BYTES_MAX: usize = 16 * 1024;

/// What a publisher showed. It does not print itself.
#[derive(Clone, Default)]
pub struct Credentials {
    /// From `Authorization: Bearer …`.
    pub bearer: Option<String>,
    /// The headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.
    pub webhook_id: Option<String>,
    pub webhook_timestamp: Option<String>,
    pub webhook_signature: Option<String>,
}

/// What an endpoint takes, to be known before a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Bytes of a body at most.
    pub max_body: u64,
}

/// Why an event was not taken. The sender may send it again; nothing of it was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntakeError {
    #[error("there is no such endpoint")]
    Unknown,
    #[error("the body is too large: this endpoint takes at most {max} bytes")]
    TooLarge { max: u64 },
    #[error("{0}")]
    Unauthorized(String),
    /// Too much waits already.
    #[error("{0}")]
    Full(String),
    /// It could not be made safe.
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    Invalid(String),
    /// Another event came under this key.
    #[error("{0}")]
    KeyReused(String),
}

impl From<Error> for IntakeError {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound(_) => Self::Unknown,
            Error::Full { .. } => Self::Full(error.to_string()),
            Error::Invalid(why) => Self::Invalid(why),
            Error::KeyReused => Self::KeyReused(error.to_string()),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

pub struct Intake {
    notify: Arc<dyn Notify>,
    recent: Arc<RecentEvents>,
    routes: Known<Route>,
    recorder: Option<Arc<Recorder>>,
}

impl Intake {
    pub fn new(notify: Arc<dyn Notify>, recent: Arc<RecentEvents>) -> Self {
        let routes = Known::new(notify.changes(), ROUTES_MAX);
        Self { notify, recent, routes, recorder: None }
    }

    /// Tells this one of every event taken in.
    pub fn with_recorder(self, recorder: Arc<Recorder>) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// What this endpoint takes over HTTP.
    pub async fn admits(&self, endpoint: &str) -> Result<Admission, IntakeError> {
        let route = self.route(endpoint, Protocol::Http).await?;
        Ok(Admission { max_body: route.endpoint.options.max_body })
    }

    /// Takes an event that came over HTTP. When this returns an id, the event and its notifications survive a crash.
    /// `once` is the publisher's key; its scope becomes the endpoint.
    pub async fn take(
        &self,
        endpoint: &str,
        credentials: Credentials,
        mut event: NewEvent,
        once: Option<Once>,
        now: UnixMs,
    ) -> Result<EventId, IntakeError> {
        headers::strip(&mut event.headers);
        let authorize = |options: &EndpointOptions, body: &[u8]| authorize(options, &credentials, body, now);
        self.take_by(endpoint, Protocol::Http, event, once, authorize).await
    }

    /// Takes an event that came over MQTT, with the same promise. Whom the broker lets publish is its own affair.
    pub async fn take_from_broker(&self, endpoint: &str, event: NewEvent) -> Result<EventId, IntakeError> {
        self.take_by(endpoint, Protocol::Mqtt, event, None, |_, _| Ok(())).await
    }

    async fn take_by(
        &self,
        endpoint: &str,
        protocol: Protocol,
        event: NewEvent,
        once: Option<Once>,
        authorize: impl Fn(&EndpointOptions, &[u8]) -> Result<(), &'static str>,
    ) -> Result<EventId, IntakeError> {
        check_shape(&event)?;
        for _ in 0..TRIES_MAX {
            let route = self.route(endpoint, protocol).await?;
            let options = &route.endpoint.options;
            if event.body.len() as u64 > options.max_body {
                return Err(IntakeError::TooLarge { max: options.max_body });
            }
            authorize(options, &event.body).map_err(|why| IntakeError::Unauthorized(why.into()))?;
            let to = wanting(&route, &event);
            let wanted = !to.is_empty();
            let (id, version) = (route.endpoint.id, route.endpoint.version);
            let once = once.clone().map(|once| Once { scope: format!("in/{}", id.0), ..once });
            match self.notify.accept(Accept { endpoint: id, version, event: event.clone(), to, once }).await? {
                Accepted::Safe(id) => {
                    if let Some(recorder) = &self.recorder {
                        recorder.accepted(route.endpoint.id, event.body.len());
                    }
                    if wanted {
                        self.remember(id, &route, event);
                    }
                    return Ok(id);
                }
                Accepted::Again(id) => return Ok(id),
                Accepted::Stale => self.routes.forget(endpoint),
            }
        }
        Err(IntakeError::Unavailable("this endpoint is being changed just now: try again".into()))
    }

    /// For the deliveries that begin about now.
    fn remember(&self, id: EventId, route: &Route, content: NewEvent) {
        self.recent.put(Event {
            id,
            endpoint: route.endpoint.id,
            endpoint_name: route.endpoint.name.clone(),
            group: route.endpoint.group,
            kind: None,
            content,
        });
    }

    /// The route of an endpoint that takes events this way.
    async fn route(&self, endpoint: &str, protocol: Protocol) -> Result<Arc<Route>, IntakeError> {
        let route = match self.routes.get(endpoint) {
            Ok(known) => known,
            Err(at) => {
                let read = self.notify.route(endpoint).await?.ok_or(IntakeError::Unknown)?;
                self.routes.keep(endpoint, at, read)
            }
        };
        if route.endpoint.is_system() || route.endpoint.protocol() != protocol {
            return Err(IntakeError::Unknown);
        }
        Ok(route)
    }
}

fn wanting(route: &Route, event: &NewEvent) -> Vec<SubscriptionId> {
    let event = Reading::of(event);
    route.subscriptions.iter().filter(|one| one.wants(&event, None)).map(|one| one.id).collect()
}

fn check_shape(event: &NewEvent) -> Result<(), IntakeError> {
    if !["POST", "PUT", "PATCH"].contains(&event.method.as_str()) {
        return Err(IntakeError::Invalid("an event is sent by POST, PUT or PATCH".into()));
    }
    let headers: usize = event.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if headers > HEADERS_BYTES_MAX {
        return Err(IntakeError::Invalid(format!("an event's headers have at most {HEADERS_BYTES_MAX} bytes in all")));
    }
    if event.query.as_ref().is_some_and(|query| query.len() > QUERY_BYTES_MAX) {
        return Err(IntakeError::Invalid(format!("an event's query has at most {QUERY_BYTES_MAX} bytes")));
    }
    Ok(())
}

/// What an endpoint asks for, a publisher must show: each of the token and the signature.
fn authorize(
    options: &EndpointOptions,
    credentials: &Credentials,
    body: &[u8],
    now: UnixMs,
) -> Result<(), &'static str> {
    if let Some(hash) = &options.token_sha256 {
        let token = credentials.bearer.as_deref().ok_or("this endpoint asks for a token: Authorization: Bearer …")?;
        let shown = hex(&Sha256::digest(token.as_bytes()));
        if !bool::from(shown.as_bytes().ct_eq(hash.to_ascii_lowercase().as_bytes())) {
            return Err("this token is not the endpoint's");
        }
    }
    if options.signature_secrets.is_empty() {
        return Ok(());
    }
    let signed = (|| {
        Some(Signed {
            id: credentials.webhook_id.as_deref()?,
            timestamp: credentials.webhook_timestamp.as_deref()?,
            signature: credentials.webhook_signature.as_deref()?,
        })
    })();
    let signed = signed.ok_or(
        "this endpoint asks for a signature: webhook-id, webhook-timestamp and webhook-signature (Standard Webhooks)",
    )?;
    let secrets: Vec<Secret> = options.signature_secrets.iter().flat_map(|secret| Secret::parse(secret)).collect();
    signing::verify(&secrets, signed, body, now)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
