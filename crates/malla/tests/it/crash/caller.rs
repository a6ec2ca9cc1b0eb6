//! A caller that behaves as a good client does: it repeats a request under the same key until it has an answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::watch;

use super::dice::Dice;

/// Nothing is away for as long as this.
const PATIENCE: Duration = Duration::from_secs(60);
/// Before the same request is sent again.
const AGAIN: Duration = Duration::from_millis(10);

/// Where the servers are now; nowhere while all are down.
#[derive(Debug, Clone, Default)]
pub(super) struct Servers {
    pub(super) urls: Vec<String>,
    pub(super) token: String,
}

/// An answer that counts: not a broken connection, and no plea to come back later.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Answer {
    /// The problem's code, if it is one.
    pub(super) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// The connection broke before an answer came.
#[derive(Debug)]
pub(super) struct Gone;

/// What the callers of a campaign went through.
#[derive(Debug, Default)]
pub(super) struct Trials {
    pub(super) broken: AtomicU64,
    pub(super) away: AtomicU64,
    /// The longest wait for an answer of any sort, in milliseconds.
    pub(super) longest_ms: AtomicU64,
    wrong: Mutex<Vec<String>>,
}

impl Trials {
    fn took(&self, began: Instant) {
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.longest_ms.fetch_max(took, Ordering::Relaxed);
    }

    /// Notes something that must not happen.
    pub(super) fn wrong(&self, what: String) {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    pub(super) fn all_wrong(&self) -> Vec<String> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Clone)]
pub(super) struct Caller {
    pub(super) http: reqwest::Client,
    servers: watch::Receiver<Servers>,
    pub(super) trials: Arc<Trials>,
    dice: Dice,
}

impl Caller {
    /// `timeout` is how long one try may take.
    pub(super) fn new(servers: watch::Receiver<Servers>, timeout: Duration, dice: Dice) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(timeout).build().expect("an HTTP client");
        Self { http, servers, trials: Arc::default(), dice }
    }

    /// The same caller, who waits for longer.
    pub(super) fn patient(&self, timeout: Duration) -> Self {
        let http = reqwest::Client::builder().timeout(timeout).build().expect("an HTTP client");
        Self { http, ..self.clone() }
    }

    /// Where the servers are now.
    pub(super) fn known(&self) -> Servers {
        self.servers.borrow().clone()
    }

    /// The same caller with other chances.
    pub(super) fn with(&self, dice: Dice) -> Self {
        Self { dice, ..self.clone() }
    }

    /// Changes something, once, however often it takes to ask.
    pub(super) async fn write(&mut self, method: &Method, path: &str, body: Option<&Value>, key: &str) -> Answer {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let Some(servers) = self.servers_there().await else { break };
            let url = self.dice.pick(&servers.urls).expect("one is there");
            match self.attempt(method, &format!("{url}{path}"), &servers.token, body, Some(key)).await {
                Ok(answer) if answer.status == StatusCode::SERVICE_UNAVAILABLE => {}
                Ok(answer) => return answer,
                Err(Gone) => {}
            }
            tokio::time::sleep(AGAIN).await;
        }
        self.trials.wrong(format!("{method} {path} got no answer within {PATIENCE:?}"));
        Answer { status: StatusCode::SERVICE_UNAVAILABLE, body: Value::Null }
    }

    /// Puts bytes somewhere, however often it takes to ask: the same bytes again change nothing.
    pub(super) async fn put(&mut self, path: &str, body: &[u8]) -> StatusCode {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let Some(servers) = self.servers_there().await else { break };
            let url = self.dice.pick(&servers.urls).expect("one is there");
            let request = self.http.put(format!("{url}{path}")).bearer_auth(&servers.token).body(body.to_vec());
            let began = Instant::now();
            let answer = request.send().await;
            self.trials.took(began);
            match answer {
                Ok(answer) if answer.status() != StatusCode::SERVICE_UNAVAILABLE => return answer.status(),
                Ok(_) => drop(self.trials.away.fetch_add(1, Ordering::Relaxed)),
                Err(_) => drop(self.trials.broken.fetch_add(1, Ordering::Relaxed)),
            }
            tokio::time::sleep(AGAIN).await;
        }
        self.trials.wrong(format!("PUT {path} got no answer within {PATIENCE:?}"));
        StatusCode::SERVICE_UNAVAILABLE
    }

    /// Reads once.
    pub(super) async fn read(&mut self, path: &str) -> Result<Value, Gone> {
        let servers = self.known();
        let url = self.dice.pick(&servers.urls).ok_or(Gone)?;
        let answer = self.attempt(&Method::GET, &format!("{url}{path}"), &servers.token, None, None).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            StatusCode::SERVICE_UNAVAILABLE => Err(Gone),
            status => panic!("GET {path} was answered with {status}: {}", answer.body),
        }
    }

    async fn servers_there(&mut self) -> Option<Servers> {
        let there = self.servers.wait_for(|servers| !servers.urls.is_empty());
        tokio::time::timeout(PATIENCE, there).await.ok()?.ok().map(|servers| servers.clone())
    }

    async fn attempt(
        &self,
        method: &Method,
        url: &str,
        token: &str,
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Answer, Gone> {
        let mut request = self.http.request(method.clone(), url).bearer_auth(token);
        request = key.into_iter().fold(request, |request, key| request.header("Idempotency-Key", key));
        request = body.into_iter().fold(request, |request, body| request.json(body));
        let began = Instant::now();
        let answer = answered(request).await;
        self.trials.took(began);
        let Some((answer, is_problem, retry_after)) = answer else {
            self.trials.broken.fetch_add(1, Ordering::Relaxed);
            return Err(Gone);
        };
        if answer.status == StatusCode::SERVICE_UNAVAILABLE {
            self.trials.away.fetch_add(1, Ordering::Relaxed);
            if !is_problem || !retry_after {
                self.trials.wrong(format!("{method} {url}: a 503 without a problem or a Retry-After: {answer:?}"));
            }
        }
        if answer.status == StatusCode::INTERNAL_SERVER_ERROR {
            self.trials.wrong(format!("{method} {url}: {answer:?}"));
        }
        Ok(answer)
    }
}

/// The answer, whether it is a problem document, and whether it says when to come back.
async fn answered(request: reqwest::RequestBuilder) -> Option<(Answer, bool, bool)> {
    let response = request.send().await.ok()?;
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_problem = kind.starts_with("application/problem+json");
    let retry_after = response.headers().contains_key(RETRY_AFTER);
    let body = response.json().await.ok()?;
    Some((Answer { status, body }, is_problem, retry_after))
}
