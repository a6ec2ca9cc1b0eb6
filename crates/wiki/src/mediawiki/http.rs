//! One exchange with a wiki: who asks is said, the answer comes packed, under one deadline, and is bounded.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use malla_queue::{Clock, Error, Result, UnixMs};
use malla_reach::{Guard, Unreachable, explain};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LAST_MODIFIED, LOCATION, RETRY_AFTER};
use reqwest::{Client, ClientBuilder};
use tokio::time::{Instant, timeout_at};
use tower::{Layer, Service};
use url::Url;

use super::template::Template;

const CONNECT_MAX: Duration = Duration::from_secs(15);
/// Shorter than most servers keep an idle connection, so that none is used as it closes.
const IDLE_FOR: Duration = Duration::from_secs(4);
const PING_EVERY: Duration = Duration::from_secs(20);

tokio::task_local! {
    /// When the connection of the exchange that this task is at was made.
    static CONNECTED: Arc<AtomicI64>;
}

pub(crate) struct Http {
    guarded: Client,
    /// For the operator's own wiki, wherever it is.
    home: Client,
    guard: Guard,
    template: Template,
    clock: Arc<dyn Clock>,
    timeout: Duration,
    answer_bytes_max: usize,
}

/// What came back, when the request left, and when its answer began.
pub(crate) struct Exchange {
    pub(crate) sent_at: UnixMs,
    pub(crate) answered_at: Option<UnixMs>,
    pub(crate) came: Result<Response, Broken>,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    /// Where it sends us instead.
    pub(crate) location: Option<Url>,
    pub(crate) last_modified: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer, or no whole one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It may not be reached from here: nothing was sent.
    Refused(String),
    Trouble(String),
    TooLarge,
}

/// What an exchange needs to know of the house.
pub(crate) struct HttpOptions<'o> {
    pub(crate) contact: &'o str,
    pub(crate) guard: Guard,
    pub(crate) template: Template,
    pub(crate) timeout: Duration,
    pub(crate) answer_bytes_max: usize,
}

impl Http {
    pub(crate) fn new(clock: Arc<dyn Clock>, options: HttpOptions<'_>) -> Result<Self> {
        // Whoever installed another provider first keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let HttpOptions { contact, guard, template, timeout, answer_bytes_max } = options;
        let agent = format!("Malla/{} (+{contact})", env!("CARGO_PKG_VERSION"));
        let build = |guard: Guard| {
            let builder = || builder(&agent, &guard, &clock);
            let client = builder().build().or_else(|error| {
                tracing::warn!(?error, "this machine has no list of authorities: wikis over https cannot be verified");
                builder().tls_certs_only([]).build()
            });
            client.map_err(|error| Error::Internal(format!("there is no HTTP client: {error:?}")))
        };
        let (guarded, home) = (build(guard.clone())?, build(Guard::new(true, Vec::new()))?);
        Ok(Self { guarded, home, guard, template, clock, timeout, answer_bytes_max })
    }

    /// Asks once. Redirects are not followed: each is a request of its own, perhaps in another lane.
    pub(crate) async fn get(&self, url: &Url) -> Exchange {
        let began = self.clock.now();
        let is_home = self.template.is_home(url);
        let refused = if is_home { Ok(()) } else { self.guard.check_url(url) };
        if let Err(why) = refused {
            return Exchange { sent_at: began, answered_at: None, came: Err(Broken::Refused(why.to_string())) };
        }
        let client = if is_home { &self.home } else { &self.guarded };
        let connected = Arc::new(AtomicI64::new(began.0));
        let mut answered_at = None;
        let came = CONNECTED.scope(connected.clone(), self.exchange(client, url, &mut answered_at)).await;
        Exchange { sent_at: UnixMs(connected.load(Ordering::SeqCst)), answered_at, came }
    }

    async fn exchange(&self, client: &Client, url: &Url, answered_at: &mut Option<UnixMs>) -> Result<Response, Broken> {
        let deadline = Instant::now() + self.timeout;
        let (host, within) = (url.host_str().unwrap_or_default(), self.timeout.as_secs());
        let sent = timeout_at(deadline, client.get(url.clone()).send()).await;
        let mut response = sent
            .map_err(|_| Broken::Trouble(format!("{host} did not answer within {within} s")))?
            .map_err(|error| why(&error, host))?;
        *answered_at = Some(self.clock.now());
        let text =
            |headers: &HeaderMap, name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let headers = response.headers();
        let mut answer = Response {
            status: response.status().as_u16(),
            retry_after: text(headers, RETRY_AFTER),
            location: text(headers, LOCATION).and_then(|to| url.join(&to).ok()),
            last_modified: text(headers, LAST_MODIFIED),
            content_type: text(headers, CONTENT_TYPE),
            body: Vec::new(),
        };
        loop {
            match timeout_at(deadline, response.chunk()).await {
                Err(_) => return Err(Broken::Trouble(format!("{host} did not end its answer within {within} s"))),
                Ok(Err(error)) => return Err(why(&error, host)),
                Ok(Ok(None)) => return Ok(answer),
                Ok(Ok(Some(chunk))) if answer.body.len() + chunk.len() > self.answer_bytes_max => {
                    return Err(Broken::TooLarge);
                }
                Ok(Ok(Some(chunk))) => answer.body.extend_from_slice(&chunk),
            }
        }
    }
}

fn builder(agent: &str, guard: &Guard, clock: &Arc<dyn Clock>) -> ClientBuilder {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, reqwest::header::HeaderValue::from_static("application/json, text/html;q=0.9, */*;q=0.5"));
    Client::builder()
        .user_agent(agent)
        .default_headers(headers)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_MAX)
        .pool_idle_timeout(IDLE_FOR)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PING_EVERY)
        .dns_resolver(Arc::new(guard.clone()))
        .connector_layer(Stamp(clock.clone()))
}

/// Says in one plain sentence why there was no answer.
fn why(error: &reqwest::Error, host: &str) -> Broken {
    let refusal = explain::among(error, &|cause| match cause.downcast_ref::<Unreachable>()? {
        Unreachable::NoAddress { .. } => None,
        refused => Some(refused.to_string()),
    });
    if let Some(refused) = refusal {
        return Broken::Refused(refused);
    }
    let known = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref::<std::io::Error>() {
        Some(error) => explain::connection(error, host),
        None => cause.downcast_ref::<Unreachable>().map(ToString::to_string),
    };
    if let Some(said) = explain::tls(error, host).or_else(|| explain::among(error, &known)) {
        return Broken::Trouble(said);
    }
    if error.is_timeout() {
        return Broken::Trouble(format!("no connection to {host} could be made in time"));
    }
    let mut last: &dyn std::error::Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let what = if error.is_body() || error.is_decode() { "broke off its answer" } else { "gave no answer" };
    Broken::Trouble(format!("{host} {what}: {last}"))
}

/// Notes when a connection is made: a request leaves after that, so the gap to the next one counts from there.
#[derive(Clone)]
struct Stamp(Arc<dyn Clock>);

#[derive(Clone)]
struct Stamped<S> {
    inner: S,
    clock: Arc<dyn Clock>,
}

impl<S> Layer<S> for Stamp {
    type Service = Stamped<S>;

    fn layer(&self, inner: S) -> Stamped<S> {
        Stamped { inner, clock: self.0.clone() }
    }
}

impl<S, R> Service<R> for Stamped<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let (connecting, clock) = (self.inner.call(request), self.clock.clone());
        Box::pin(async move {
            let connection = connecting.await;
            // A connection that another task finishes is for a later exchange.
            let _ = CONNECTED.try_with(|at| at.store(clock.now().0, Ordering::SeqCst));
            connection
        })
    }
}
