//! How a request gets to a server and its answer back: addresses, TLS, fail-over, problems.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use malla_protocol::{IDEMPOTENCY_HEADER, Problem};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, LOCATION};
use reqwest::{Certificate, Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result, reason};

const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Longer than a server lets a request take.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(60);
/// A live view sends a heartbeat every fifteen seconds.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Between two tries to find a server.
const TRY_AGAIN: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// Addresses such as `https://malla.example:7070`. The first that can be reached is used, and kept while it can.
    pub servers: Vec<String>,
    pub token: Option<String>,
    /// Certificates to trust besides the system's.
    pub ca_pem: Option<Vec<u8>>,
}

/// A connection to a Malla server. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    servers: Arc<[Url]>,
    /// The server that answered last.
    current: Arc<AtomicUsize>,
    token: Option<Arc<str>>,
    /// How long it waits for a server when none can be reached.
    patience: Duration,
}

fn is_local(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl Client {
    pub fn new(options: ClientOptions) -> Result<Self> {
        // Whoever installed another provider first keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let servers = options.servers.iter().map(|text| address(text)).collect::<Result<Vec<_>>>()?;
        if servers.is_empty() {
            return Err(Error::Protocol("no server is given: name one, such as http://127.0.0.1:7070".into()));
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("malla-client/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIME_MAX)
            .read_timeout(SILENCE_MAX)
            .redirect(reqwest::redirect::Policy::none());
        // No proxy knows the way to a server on this machine.
        if servers.iter().all(is_local) {
            builder = builder.no_proxy();
        }
        if let Some(pem) = &options.ca_pem {
            let wrong = |why: String| Error::Protocol(format!("the certificate cannot be used: {why}"));
            let certificates = Certificate::from_pem_bundle(pem).map_err(|error| wrong(reason(&error)))?;
            if certificates.is_empty() {
                return Err(wrong("there is none in it".into()));
            }
            builder = builder.tls_certs_merge(certificates);
        }
        let http = builder.build().map_err(|error| Error::Protocol(format!("cannot start: {}", reason(&error))))?;
        Ok(Self {
            http,
            servers: servers.into(),
            current: Arc::new(AtomicUsize::new(0)),
            token: options.token.map(Into::into),
            patience: Duration::ZERO,
        })
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str], query: &impl Serialize) -> Result<T> {
        self.read(Call { method: Method::GET, path, query, body: None::<&()>, accept: None }).await
    }

    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T> {
        self.read(Call { method, path, query: &(), body: Some(body), accept: None }).await
    }

    /// A question that is too long for its address.
    pub(crate) async fn post_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &impl Serialize,
        body: &impl Serialize,
    ) -> Result<T> {
        self.read(Call { method: Method::POST, path, query, body: Some(body), accept: None }).await
    }

    /// A write whose whole meaning is in its address.
    pub(crate) async fn act_at<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        query: &impl Serialize,
    ) -> Result<T> {
        self.read(Call { method, path, query, body: None::<&()>, accept: None }).await
    }

    pub(crate) async fn delete(&self, path: &[&str]) -> Result<()> {
        let call = Call { method: Method::DELETE, path, query: &(), body: None::<&()>, accept: None };
        self.send(&call, Some(REQUEST_TIME_MAX)).await.map(drop)
    }

    /// The same, for what is named by a question.
    pub(crate) async fn delete_at(&self, path: &[&str], query: &impl Serialize) -> Result<()> {
        let call = Call { method: Method::DELETE, path, query, body: None::<&()>, accept: None };
        self.send(&call, Some(REQUEST_TIME_MAX)).await.map(drop)
    }

    /// The answer to a request that goes on for as long as it likes.
    pub(crate) async fn open(&self, path: &[&str], query: &impl Serialize) -> Result<Response> {
        let call = Call { method: Method::GET, path, query, body: None::<&()>, accept: None };
        self.send(&call, None).await
    }

    /// The same, in the form that is asked for.
    pub(crate) async fn open_as(
        &self,
        path: &[&str],
        query: &impl Serialize,
        accept: &'static str,
    ) -> Result<Response> {
        let call = Call { method: Method::GET, path, query, body: None::<&()>, accept: Some(accept) };
        self.send(&call, None).await
    }

    /// A write whose answer has no body.
    pub(crate) async fn tell(&self, path: &[&str], body: Option<&impl Serialize>) -> Result<()> {
        let call = Call { method: Method::POST, path, query: &(), body, accept: None };
        self.send(&call, Some(REQUEST_TIME_MAX)).await.map(drop)
    }

    /// The same connection for another caller.
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.into()), ..self.clone() }
    }

    /// Whether all servers are on this machine.
    pub fn is_local(&self) -> bool {
        self.servers.iter().all(is_local)
    }

    /// The same connection for who would rather wait so long for a server than be told that there is none.
    pub fn patient(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    pub(crate) fn token(&self) -> Option<String> {
        self.token.as_deref().map(str::to_owned)
    }

    /// The bytes of an answer as they are.
    pub(crate) async fn get_raw(&self, path: &[&str], query: &impl Serialize) -> Result<Vec<u8>> {
        let call = Call { method: Method::GET, path, query, body: None::<&()>, accept: None };
        whole(self.send(&call, Some(REQUEST_TIME_MAX)).await?).await
    }

    /// Sends bytes as they are. The next server is tried only if the one before cannot have got them: there is no key
    /// that would make a repeat harmless.
    pub(crate) async fn write_raw<T: DeserializeOwned>(&self, raw: Raw<'_>) -> Result<T> {
        let first = self.current.load(Ordering::Relaxed);
        let mut last = None;
        for turn in 0..self.servers.len() {
            let index = (first + turn) % self.servers.len();
            match self.raw_request(&self.servers[index], &raw).timeout(REQUEST_TIME_MAX).send().await {
                Ok(response) => {
                    self.current.store(index, Ordering::Relaxed);
                    return parsed(judge(response).await?).await;
                }
                Err(error) if error.is_builder() => {
                    return Err(Error::Protocol(format!("the request cannot be made: {}", reason(&error))));
                }
                Err(error) => {
                    let away = Error::Unreachable(place(&self.servers[index]), reason(&error));
                    if !error.is_connect() {
                        return Err(away);
                    }
                    last = Some(away);
                }
            }
        }
        Err(last.unwrap_or_else(|| Error::Protocol("no server is given".into())))
    }

    fn raw_request(&self, server: &Url, raw: &Raw<'_>) -> RequestBuilder {
        let mut url = address_of(server, raw.path);
        url.set_query(raw.query.as_deref());
        let mut request = self.http.request(raw.method.clone(), url).body(raw.body.clone());
        for (name, value) in &raw.headers {
            request = request.header(name, value);
        }
        match &raw.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn read<T: DeserializeOwned>(&self, call: Call<'_, impl Serialize, impl Serialize>) -> Result<T> {
        parsed(self.send(&call, Some(REQUEST_TIME_MAX)).await?).await
    }

    /// Tries one server after the other, from the one that answered last. A write carries a key of its own, so that
    /// a second server does not do again what the first one did before it fell silent.
    async fn send(
        &self,
        call: &Call<'_, impl Serialize, impl Serialize>,
        time_max: Option<Duration>,
    ) -> Result<Response> {
        let key = if call.method.is_safe() { None } else { Some(random_key()?) };
        let began = Instant::now();
        loop {
            match self.send_to_any(call, time_max, key.as_deref()).await {
                Err(Error::Unreachable(..)) if began.elapsed() < self.patience => tokio::time::sleep(TRY_AGAIN).await,
                sent => return sent,
            }
        }
    }

    async fn send_to_any(
        &self,
        call: &Call<'_, impl Serialize, impl Serialize>,
        time_max: Option<Duration>,
        key: Option<&str>,
    ) -> Result<Response> {
        self.ask_any(|server| {
            let mut request = self.request(server, call);
            if let Some(time_max) = time_max {
                request = request.timeout(time_max);
            }
            match key {
                Some(key) => request.header(IDEMPOTENCY_HEADER, key),
                None => request,
            }
        })
        .await
    }

    /// Asks one server after the other, from the one that answered last.
    async fn ask_any(&self, request: impl Fn(&Url) -> RequestBuilder) -> Result<Response> {
        let first = self.current.load(Ordering::Relaxed);
        let mut last = None;
        for turn in 0..self.servers.len() {
            let index = (first + turn) % self.servers.len();
            match request(&self.servers[index]).send().await {
                Ok(response) => {
                    self.current.store(index, Ordering::Relaxed);
                    return judge(response).await;
                }
                Err(error) if error.is_builder() => {
                    return Err(Error::Protocol(format!("the request cannot be made: {}", reason(&error))));
                }
                Err(error) => last = Some(Error::Unreachable(place(&self.servers[index]), reason(&error))),
            }
        }
        Err(last.unwrap_or_else(|| Error::Protocol("no server is given".into())))
    }

    /// Puts bytes that may be put any number of times. With patience they are also put again after a server that cannot
    /// take them now.
    pub(crate) async fn put_bytes(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        headers: &[(HeaderName, &'static str)],
        body: &Bytes,
    ) -> Result<()> {
        let began = Instant::now();
        loop {
            let sent = self.ask_any(|server| {
                let request = self.http.put(address_of(server, path)).query(query);
                let request = request.timeout(REQUEST_TIME_MAX).body(body.clone());
                let request = headers.iter().fold(request, |request, (name, value)| request.header(name, *value));
                self.with_own_token(request)
            });
            let again = match sent.await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            let Some(wait) = again.passes_after(TRY_AGAIN) else { return Err(again) };
            if began.elapsed() + wait >= self.patience {
                return Err(again);
            }
            tokio::time::sleep(wait).await;
        }
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    fn request(&self, server: &Url, call: &Call<'_, impl Serialize, impl Serialize>) -> RequestBuilder {
        let mut request = self.http.request(call.method.clone(), address_of(server, call.path)).query(call.query);
        if let Some(body) = call.body {
            request = request.json(body);
        }
        if let Some(accept) = call.accept {
            request = request.header(ACCEPT, accept);
        }
        self.with_own_token(request)
    }

    fn with_own_token(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

struct Call<'a, Q, B> {
    method: Method,
    /// Segments, not yet encoded.
    path: &'a [&'a str],
    query: &'a Q,
    body: Option<&'a B>,
    accept: Option<&'static str>,
}

/// A request whose body is not JSON, with a token of its own.
pub(crate) struct Raw<'a> {
    pub(crate) method: Method,
    /// Segments, not yet encoded.
    pub(crate) path: &'a [&'a str],
    pub(crate) query: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) token: Option<String>,
    pub(crate) body: Vec<u8>,
}

fn address_of(server: &Url, path: &[&str]) -> Url {
    let mut url = server.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

async fn parsed<T: DeserializeOwned>(response: Response) -> Result<T> {
    let server = place(response.url());
    let bytes = whole(response).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::Protocol(format!("{server} answered something unexpected: {error}")))
}

/// Success goes on; a problem document becomes the error that it is.
async fn judge(response: Response) -> Result<Response> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let server = place(response.url());
    if status.is_redirection() {
        let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("elsewhere");
        return Err(Error::Protocol(format!("{server} sends us to {target}: use that address")));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/problem+json") {
        return Err(Error::Protocol(format!("{server} answered {status}, but not as a Malla server does")));
    }
    let bytes = whole(response).await?;
    let problem: Problem = serde_json::from_slice(&bytes)
        .map_err(|error| Error::Protocol(format!("{server} answered {status} and a problem unread: {error}")))?;
    Err(Error::Problem(problem))
}

async fn whole(mut response: Response) -> Result<Vec<u8>> {
    let server = place(response.url());
    let mut bytes = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| Error::Unreachable(server.clone(), reason(&error)))?
    {
        if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(Error::Protocol(format!("{server} answered more than {ANSWER_BYTES_MAX} bytes")));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// A server's address as people write it: the scheme may be missing.
fn address(text: &str) -> Result<Url> {
    let text = text.trim();
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let wrong = || Error::Protocol(format!("\"{text}\" is not a server's address: write http://host:port"));
    let url = Url::parse(&full).map_err(|_| wrong())?;
    match url.scheme() {
        "http" | "https" if url.host_str().is_some_and(|host| !host.is_empty()) => Ok(url),
        _ => Err(wrong()),
    }
}

/// Which server, without path and query.
pub(crate) fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn random_key() -> Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Protocol(format!("no randomness: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_people_write_them() {
        check("http://127.0.0.1:7070", Some("http://127.0.0.1:7070"));
        check("127.0.0.1:7070", Some("http://127.0.0.1:7070"));
        check(" https://malla.example/ ", Some("https://malla.example"));
        for wrong in ["", "ftp://x", "http://", "http:// x"] {
            check(wrong, None);
        }
    }

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(address(text).ok().map(|url| place(&url)).as_deref(), expected, "{text}");
    }

    #[test]
    fn a_client_without_a_server_says_so() {
        let error = Client::new(ClientOptions::default()).err().expect("refused").to_string();
        assert!(error.contains("no server is given"), "{error}");
        let options = ClientOptions {
            servers: vec!["localhost".into()],
            ca_pem: Some(b"not a certificate".to_vec()),
            token: None,
        };
        let error = Client::new(options).err().expect("refused").to_string();
        assert!(error.contains("certificate cannot be used"), "{error}");
    }
}
