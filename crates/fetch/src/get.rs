//! Fetches one page over a connection that its run keeps: one request, one answer or one reason why there is none.
//!
//! Redirects are not followed here: where they lead is another lane's business.

mod decode;
mod dial;
mod explain;
mod line;
mod pack;
mod question;
mod throttle;
mod wire;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use malla_queue::{Error, Result};
use malla_reach::Guard;
use rustls::ClientConfig;
use rustls::crypto::ring;
use tokio::time::{Instant, sleep_until};

use crate::{Answer, Item, NO_ANSWER, NOT_ASKED, PackedBody, Trouble, TroubleKind, What};
use decode::Decoded;
use dial::Undialled;
pub use line::Line;
use line::{Deadline, End, Head};
use pack::{Packers, Raw};
pub(crate) use throttle::Throttle;

/// Bodies above this are unpacked and packed on a thread of their own, so that they hold nobody up.
const LARGE_BYTES: usize = 256 << 10;

/// What one exchange may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GetLimits {
    /// From the beginning to the last byte.
    pub whole: Duration,
    /// Until there is a connection, TLS included.
    pub connect: Duration,
    /// A page's body, on the wire and decoded.
    pub body_bytes: usize,
    /// The body of a robots.txt: 500 KiB, and one byte more shows that there is more.
    pub robots_bytes: usize,
    pub head_bytes: usize,
    pub head_lines: usize,
}

impl Default for GetLimits {
    fn default() -> Self {
        Self {
            whole: Duration::from_secs(30),
            connect: Duration::from_secs(10),
            body_bytes: 10 << 20,
            robots_bytes: (500 << 10) + 1,
            head_bytes: 64 << 10,
            head_lines: 200,
        }
    }
}

/// Fetches pages. One is enough for a device.
pub struct Getter {
    guard: Guard,
    tls: Arc<ClientConfig>,
    limits: GetLimits,
    user_agent: HeaderValue,
    throttle: Arc<Throttle>,
    packers: Arc<Packers>,
}

/// What came of one attempt.
#[derive(Debug)]
pub enum Got {
    /// The answer, and when its first byte came, or when the attempt ended if none did.
    Answer(Answer, Instant),
    /// The kept connection was closed as the request went out, and nothing came back. The site may have seen the
    /// request, so it is asked again after its gap.
    Stale,
    /// This machine lacks something (files, ports, memory): the site was not asked.
    Unable(String),
    /// By the time there was a connection, it was no longer ours to ask.
    TooLate,
}

impl Getter {
    /// `user_agent` is `MallaBot/<version> (+contact)`.
    pub fn new(guard: Guard, user_agent: &str) -> Result<Self> {
        let user_agent = HeaderValue::from_str(user_agent)
            .map_err(|_| Error::Invalid("a user agent is one line of visible characters".into()))?;
        Ok(Self {
            guard,
            tls: Arc::new(tls_config()?),
            limits: GetLimits::default(),
            user_agent,
            throttle: Arc::new(Throttle::new(None)),
            packers: Arc::default(),
        })
    }

    pub fn with_limits(self, limits: GetLimits) -> Self {
        Self { limits, ..self }
    }

    /// With other authorities than this machine's.
    pub fn with_tls(self, tls: ClientConfig) -> Self {
        Self { tls: Arc::new(tls), ..self }
    }

    /// All downloads together take at most this much.
    pub fn with_max_rate(self, bytes_per_s: Option<u64>) -> Self {
        Self { throttle: Arc::new(Throttle::new(bytes_per_s)), ..self }
    }

    pub(crate) fn throttle(&self) -> &Throttle {
        &self.throttle
    }

    /// One exchange, if it `may` still begin when there is a connection: a machine may have slept meanwhile. It may be
    /// cancelled at any await: the connection goes with it.
    pub async fn get(&self, line: &mut Line, item: &Item, may: impl Fn() -> bool) -> Got {
        let attempt = Attempt { getter: self, item, started: Instant::now() };
        let mut question = match question::question(item, &self.user_agent) {
            Ok(question) => question,
            Err(note) => return attempt.without(NOT_ASKED, explain::trouble(TroubleKind::Refused, note)),
        };
        let mut sleep = pin!(sleep_until(attempt.started + self.limits.whole));
        let mut deadline = Deadline::new(sleep.as_mut());
        let url = item.url.as_url();
        loop {
            let kept = line.is_open_to(url).await;
            if !kept && let Err(undialled) = attempt.open(line).await {
                return attempt.undialled(undialled);
            }
            if !may() {
                return Got::TooLate;
            }
            match line.head(question, &mut deadline).await {
                Head::Came(response) => return attempt.read(line, response, &mut deadline).await,
                Head::Unsent(unsent) if kept => {
                    question = unsent;
                    line.close();
                }
                Head::Failed(_) if kept && line.gauge().heard().is_none() => {
                    line.close();
                    return Got::Stale;
                }
                failed => return attempt.no_head(line, failed),
            }
        }
    }
}

/// One item being fetched.
struct Attempt<'a> {
    getter: &'a Getter,
    item: &'a Item,
    started: Instant,
}

impl Attempt<'_> {
    fn host(&self) -> &str {
        self.item.url.as_url().host_str().unwrap_or_default()
    }

    async fn open(&self, line: &mut Line) -> Result<(), Undialled> {
        let (url, gauge) = (self.item.url.as_url(), line.gauge().clone());
        let stream = dial::dial(self.getter, url, &gauge, self.started).await?;
        let opened = line.open(stream, url, &self.getter.limits).await;
        opened.map_err(|error| Undialled::Site(explain::head(&error, self.host())))
    }

    fn undialled(&self, why: Undialled) -> Got {
        match why {
            Undialled::Own(note) => Got::Unable(note),
            Undialled::Site(trouble) if trouble.what == TroubleKind::Refused => self.without(NOT_ASKED, trouble),
            Undialled::Site(trouble) => self.without(NO_ANSWER, trouble),
        }
    }

    fn no_head(&self, line: &mut Line, failed: Head) -> Got {
        let heard = line.gauge().heard();
        line.close();
        let trouble = match failed {
            Head::Failed(error) => explain::head(&error, self.host()),
            Head::TimedOut => self.timed_out("answer"),
            Head::Came(_) | Head::Unsent(_) => {
                let note = format!("{} closed the connection as soon as it was made", self.host());
                explain::trouble(TroubleKind::NoConnection, note)
            }
        };
        self.answer(NO_ANSWER, &HeaderMap::new(), PackedBody::default(), Some(trouble), heard)
    }

    async fn read(&self, line: &mut Line, response: Response<Incoming>, deadline: &mut Deadline<'_>) -> Got {
        let heard = line.gauge().heard();
        let (head, incoming) = response.into_parts();
        let status = head.status.as_u16();
        if status < 200 {
            line.close();
            let note = format!("{} wants to speak something else than HTTP", self.host());
            let trouble = explain::trouble(TroubleKind::Garbled, note);
            return self.answer(NO_ANSWER, &HeaderMap::new(), PackedBody::default(), Some(trouble), heard);
        }
        let max = match self.item.what {
            What::Page => self.getter.limits.body_bytes,
            What::Robots => self.getter.limits.robots_bytes,
        };
        let mut body = line.take_buffer();
        let cut = match line.body(incoming, max, &mut body, deadline).await {
            End::Whole => None,
            End::TooLarge => Some(too_large(max)),
            End::BrokeOff(error) => Some(explain::body(&error, self.host())),
            End::TimedOut => Some(self.timed_out("end its answer")),
        };
        if cut.is_some() {
            line.close();
        }
        let (body, decoded) = self.pack(line, body, &head.headers, max, cut.is_some()).await;
        let trouble = cut.or_else(|| match decoded {
            Decoded::Whole => None,
            Decoded::TooLarge => Some(too_large(max)),
            Decoded::Broken => {
                let note = format!("what {} sent is not in the encoding that it claims", self.host());
                Some(explain::trouble(TroubleKind::BrokeOff, note))
            }
        });
        self.answer(status, &head.headers, body, trouble, heard)
    }

    async fn pack(
        &self,
        line: &mut Line,
        body: Vec<u8>,
        headers: &HeaderMap,
        max: usize,
        cut: bool,
    ) -> (PackedBody, Decoded) {
        let encodings = decode::encodings(headers);
        let packers = &self.getter.packers;
        if body.len() <= LARGE_BYTES {
            let packed = packers.pack(&Raw { bytes: &body, encodings: &encodings, max, cut });
            line.keep_buffer(body);
            return packed;
        }
        let packers = packers.clone();
        let pack = move || packers.pack(&Raw { bytes: &body, encodings: &encodings, max, cut });
        // It ends otherwise only with the whole process.
        tokio::task::spawn_blocking(pack).await.unwrap_or((PackedBody::default(), Decoded::Broken))
    }

    fn timed_out(&self, verb: &str) -> Trouble {
        let within = self.getter.limits.whole.as_secs_f32();
        explain::trouble(TroubleKind::TimedOut, format!("{} did not {verb} within {within} s", self.host()))
    }

    /// There was no exchange.
    fn without(&self, status: u16, trouble: Trouble) -> Got {
        self.answer(status, &HeaderMap::new(), PackedBody::default(), Some(trouble), None)
    }

    fn answer(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: PackedBody,
        trouble: Option<Trouble>,
        heard: Option<Instant>,
    ) -> Got {
        let now = Instant::now();
        let line = |(name, value): (&hyper::header::HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let took_ms = u64::try_from((now - self.started).as_millis()).unwrap_or(u64::MAX);
        let headers = headers.iter().map(line).collect();
        Got::Answer(Answer { status, headers, body, trouble, took_ms }, heard.unwrap_or(now))
    }
}

fn too_large(max: usize) -> Trouble {
    explain::trouble(TroubleKind::TooLarge, format!("the body is larger than {max} bytes: the rest is left out"))
}

/// TLS with the authorities that this machine trusts.
fn tls_config() -> Result<ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::warn!(errors = ?found.errors, "this machine has no list of authorities: no site over https can be verified");
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Internal(format!("there is no TLS: {error}")))?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
