//! A connection to a site that is kept from one request to the next and made anew when it is gone.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, Sleep};
use url::Url;

use super::GetLimits;
use super::wire::{Gauge, Stream};

pub(super) type Question = Request<Empty<Bytes>>;

/// One site's connection. Requests on it go one after the other.
#[derive(Default)]
pub struct Line {
    open: Option<Open>,
    gauge: Arc<Gauge>,
    /// For the next body.
    buffer: Vec<u8>,
}

struct Open {
    sender: SendRequest<Empty<Bytes>>,
    /// Driven by whoever waits for an answer: a task of its own would only add wake-ups.
    connection: Connection<TokioIo<Stream>, Empty<Bytes>>,
    /// The connection has come to its end and must not be driven again.
    ended: bool,
    /// Where it leads.
    to: Url,
}

/// What came of a request.
pub(super) enum Head {
    Came(Response<Incoming>),
    /// The connection was gone before anything was sent.
    Unsent(Question),
    Failed(hyper::Error),
    TimedOut,
}

/// How a body ended.
pub(super) enum End {
    Whole,
    TooLarge,
    BrokeOff(hyper::Error),
    TimedOut,
}

/// When an exchange is over. Time in which we ourselves held the answer up does not count.
pub(super) struct Deadline<'s> {
    at: Instant,
    sleep: Pin<&'s mut Sleep>,
}

impl<'s> Deadline<'s> {
    pub(super) fn new(sleep: Pin<&'s mut Sleep>) -> Self {
        Self { at: sleep.deadline(), sleep }
    }

    fn poll(&mut self, cx: &mut Context<'_>, held: impl Fn() -> Duration) -> Poll<()> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            let at = self.at + held();
            if at <= self.sleep.deadline() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(at);
        }
        Poll::Pending
    }
}

impl Line {
    pub(crate) fn is_open(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.ended)
    }

    /// Whether there is a connection to this site that is still good.
    pub(super) async fn is_open_to(&mut self, url: &Url) -> bool {
        let Some(open) = &mut self.open else { return false };
        let to_there = open.to.scheme() == url.scheme()
            && open.to.host_str() == url.host_str()
            && open.to.port_or_known_default() == url.port_or_known_default();
        let alive = to_there && poll_fn(|cx| Poll::Ready(open.is_ready(cx))).await;
        if !alive {
            self.close();
        }
        alive
    }

    pub(super) async fn open(&mut self, stream: Stream, to: &Url, limits: &GetLimits) -> hyper::Result<()> {
        let mut builder = Builder::new();
        builder
            .writev(false)
            .max_buf_size(limits.head_bytes.max(8_192))
            .max_header_size(limits.head_bytes)
            .max_headers(limits.head_lines)
            // The web is full of these, and browsers take them.
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        self.open = Some(Open { sender, connection, ended: false, to: to.clone() });
        Ok(())
    }

    pub(super) fn close(&mut self) {
        self.open = None;
    }

    pub(super) fn gauge(&self) -> &Arc<Gauge> {
        &self.gauge
    }

    /// An empty buffer for a body; the one before, if it was given back.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    pub(super) fn keep_buffer(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.buffer = buffer;
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn head(&mut self, question: Question, deadline: &mut Deadline<'_>) -> Head {
        self.gauge.reset();
        let Some(open) = &mut self.open else { return Head::Unsent(question) };
        let gauge = &self.gauge;
        let mut answer = pin!(open.sender.try_send_request(question));
        poll_fn(|cx| {
            open.drive(cx);
            match answer.as_mut().poll(cx) {
                Poll::Ready(Ok(response)) => Poll::Ready(Head::Came(response)),
                Poll::Ready(Err(mut failed)) => Poll::Ready(match failed.take_message() {
                    Some(question) => Head::Unsent(question),
                    None => Head::Failed(failed.into_error()),
                }),
                Poll::Pending => deadline.poll(cx, || gauge.held()).map(|()| Head::TimedOut),
            }
        })
        .await
    }

    /// Reads a body to its end, or until `body` holds `max` bytes.
    pub(super) async fn body(
        &mut self,
        mut incoming: Incoming,
        max: usize,
        body: &mut Vec<u8>,
        deadline: &mut Deadline<'_>,
    ) -> End {
        let Some(open) = &mut self.open else { return End::Whole };
        let gauge = &self.gauge;
        let promised = usize::try_from(incoming.size_hint().lower()).unwrap_or(usize::MAX);
        body.reserve(promised.min(max));
        poll_fn(|cx| {
            loop {
                if incoming.is_end_stream() {
                    return Poll::Ready(End::Whole);
                }
                let mut frame = Pin::new(&mut incoming).poll_frame(cx);
                if frame.is_pending() {
                    open.drive(cx);
                    frame = Pin::new(&mut incoming).poll_frame(cx);
                }
                let chunk = match frame {
                    Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(End::BrokeOff(error)),
                    Poll::Ready(None) => return Poll::Ready(End::Whole),
                    Poll::Pending => return deadline.poll(cx, || gauge.held()).map(|()| End::TimedOut),
                };
                let room = max - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return Poll::Ready(End::TooLarge);
                }
            }
        })
        .await
    }
}

impl Open {
    /// Reads and writes what can be. Errors come out where the answer is awaited.
    fn drive(&mut self, cx: &mut Context<'_>) {
        self.ended = self.ended || Pin::new(&mut self.connection).poll(cx).is_ready();
    }

    fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        !self.ended && self.sender.is_ready()
    }
}
