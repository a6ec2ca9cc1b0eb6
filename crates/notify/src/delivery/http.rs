//! One exchange with an HTTP target, under one deadline.

use std::sync::Arc;
use std::time::Duration;

use malla_queue::{Error, Result};
use malla_reach::Guard;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, ClientBuilder, Method, Request, Response};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::answer::Answer;
use super::explain::explain;
use super::parcel::Parcel;
use crate::{Auth, Event, Subscription, SubscriptionSpec};

/// A host with many addresses must not spend the whole deadline on a dead one.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Enough for a busy subscription's deliveries to find a connection; they are closed soon when it is quiet.
const IDLE_PER_HOST_MAX: usize = 256;
/// Shorter than most servers keep an idle connection (five seconds is common), so that none is used as it closes.
const IDLE_FOR: Duration = Duration::from_secs(4);
/// Without it, all deliveries would share a dead HTTP/2 connection until the system gives it up.
const PING_EVERY: Duration = Duration::from_secs(10);

/// How Malla calls itself.
pub(crate) const AGENT: &str = concat!("Malla/", env!("CARGO_PKG_VERSION"));

pub(crate) struct Http {
    client: Client,
    guard: Guard,
}

pub(crate) enum Exchange {
    Answered(Answer),
    /// No answer, or none to its end.
    Broken {
        note: String,
        answer: Option<Answer>,
    },
}

impl Http {
    pub(crate) fn new(guard: Guard) -> Result<Self> {
        // Whoever installed another provider first keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = builder(&guard).build().or_else(|error| {
            tracing::warn!(?error, "this machine has no list of authorities: targets over https cannot be verified");
            builder(&guard).tls_certs_only([]).build()
        });
        let client = client.map_err(|error| Error::Internal(format!("there is no HTTP client: {error:?}")))?;
        Ok(Self { client, guard })
    }

    pub(super) async fn send(&self, subscription: &Subscription, event: &Event, parcel: Parcel) -> Exchange {
        match request(&subscription.spec, event, parcel) {
            Ok(request) => self.exchange(request, subscription.spec.timeout()).await,
            Err(note) => Exchange::Broken { note, answer: None },
        }
    }

    /// Sends any request, within this time from the connection to the end of the answer.
    pub(crate) async fn exchange(&self, request: Request, within: Duration) -> Exchange {
        let started = Instant::now();
        let deadline = started + within;
        let broken = |note: String| Exchange::Broken { note, answer: None };
        if let Err(error) = self.guard.check_url(request.url()) {
            return broken(error.to_string());
        }
        let host = request.url().host_str().unwrap_or_default().to_owned();
        match timeout_at(deadline, self.client.execute(request)).await {
            Err(_) => broken(format!("the target did not answer within {} s", within.as_secs())),
            Ok(Err(error)) => broken(explain(&error, &host)),
            Ok(Ok(response)) => read(response, &host, within, started).await,
        }
    }
}

fn builder(guard: &Guard) -> ClientBuilder {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .no_gzip()
        .no_zstd()
        .referer(false)
        .connect_timeout(CONNECT_MAX)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .pool_idle_timeout(IDLE_FOR)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PING_EVERY)
        .dns_resolver(Arc::new(guard.clone()))
}

/// Reads the answer up to its limit. What is left unread goes with the connection.
async fn read(mut response: Response, host: &str, within: Duration, started: Instant) -> Exchange {
    let deadline = started + within;
    let mut answer = Answer::new(&response);
    let trouble = loop {
        match timeout_at(deadline, response.chunk()).await {
            Err(_) => break Some(format!("the target did not end its answer within {} s", within.as_secs())),
            Ok(Err(error)) => break Some(format!("the target broke off its answer: {}", explain(&error, host))),
            Ok(Ok(None)) => break None,
            Ok(Ok(Some(chunk))) if answer.take(&chunk) => {}
            Ok(Ok(Some(_))) => break None,
        }
    };
    answer.took = started.elapsed();
    match trouble {
        None => Exchange::Answered(answer),
        Some(note) => {
            answer.truncated = true;
            Exchange::Broken { note, answer: Some(answer) }
        }
    }
}

fn request(spec: &SubscriptionSpec, event: &Event, parcel: Parcel) -> Result<Request, String> {
    let mut url = Url::parse(&spec.target.0).map_err(|error| format!("the target is not an address: {error}"))?;
    let query = event.content.query.as_deref().filter(|query| spec.forward_query && !query.is_empty());
    if let Some(query) = query {
        let whole = url.query().filter(|own| !own.is_empty()).map(|own| format!("{own}&{query}"));
        url.set_query(Some(whole.as_deref().unwrap_or(query)));
    }
    let method = match event.content.method.as_str() {
        "PUT" => Method::PUT,
        "PATCH" => Method::PATCH,
        _ => Method::POST,
    };
    let mut request = Request::new(method, url);
    *request.headers_mut() = headers(spec, &parcel);
    *request.body_mut() = Some(parcel.body.into());
    Ok(request)
}

fn headers(spec: &SubscriptionSpec, parcel: &Parcel) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    for (name, value) in &parcel.headers {
        // What HTTP cannot carry (an event from elsewhere may have it) stays behind.
        let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) else {
            continue;
        };
        if name == USER_AGENT {
            headers.insert(name, value);
        } else {
            headers.append(name, value);
        }
    }
    // Said even of an empty body: some servers insist.
    headers.insert(CONTENT_LENGTH, parcel.body.len().into());
    if let Some(kind) = parcel.content_type.as_deref().and_then(|kind| HeaderValue::from_str(kind).ok()) {
        headers.insert(CONTENT_TYPE, kind);
    }
    if let Some(mut value) = spec.auth.as_ref().and_then(authorization) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    headers
}

fn authorization(auth: &Auth) -> Option<HeaderValue> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let text = match auth {
        Auth::Basic { username, password } => format!("Basic {}", STANDARD.encode(format!("{username}:{password}"))),
        Auth::Bearer(token) => format!("Bearer {token}"),
    };
    HeaderValue::from_str(&text).ok()
}
