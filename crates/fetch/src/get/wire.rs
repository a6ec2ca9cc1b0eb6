//! The bytes of a connection on their way in and out: counted, slowed down, and their first word noted.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};
use tokio_rustls::client::TlsStream;

use super::throttle::Throttle;

/// What is known of the answer that is on its way.
#[derive(Debug, Default)]
pub(super) struct Gauge(Mutex<Reading>);

#[derive(Debug, Default, Clone, Copy)]
struct Reading {
    heard: Option<Instant>,
    held: Duration,
}

impl Gauge {
    /// A request goes out.
    pub(super) fn reset(&self) {
        *self.lock() = Reading::default();
    }

    /// When the answer's first byte came.
    pub(super) fn heard(&self) -> Option<Instant> {
        self.lock().heard
    }

    /// How long we ourselves have held the answer up.
    pub(super) fn held(&self) -> Duration {
        self.lock().held
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's bytes as they are on the network.
pub(super) struct Wire {
    tcp: TcpStream,
    throttle: Arc<Throttle>,
    gauge: Arc<Gauge>,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Wire {
    pub(super) fn new(tcp: TcpStream, throttle: Arc<Throttle>, gauge: Arc<Gauge>) -> Self {
        Self { tcp, throttle, gauge, waiting: None }
    }

    /// Ready when the throttle lets more through.
    fn poll_throttle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some((since, sleep)) = &mut self.waiting {
                ready!(sleep.as_mut().poll(cx));
                self.gauge.lock().held += since.elapsed();
                self.waiting = None;
            }
            let now = Instant::now();
            match self.throttle.not_before(now) {
                Some(at) => self.waiting = Some((now, Box::pin(tokio::time::sleep_until(at)))),
                None => return Poll::Ready(()),
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        match this.throttle.step() {
            None => ready!(Pin::new(&mut this.tcp).poll_read(cx, buf))?,
            Some(step) => {
                ready!(this.poll_throttle(cx));
                let mut space = [0; 16_384];
                let step = step.min(buf.remaining()).min(space.len());
                let mut small = ReadBuf::new(&mut space[..step]);
                ready!(Pin::new(&mut this.tcp).poll_read(cx, &mut small))?;
                buf.put_slice(small.filled());
            }
        }
        this.throttle.take(buf.filled().len() - before, Instant::now());
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// A connection's bytes as HTTP sees them.
pub(super) struct Stream {
    layer: Layer,
    gauge: Arc<Gauge>,
}

pub(super) enum Layer {
    Plain(Wire),
    Tls(Box<TlsStream<Wire>>),
}

impl Stream {
    pub(super) fn new(layer: Layer, gauge: Arc<Gauge>) -> Self {
        Self { layer, gauge }
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(match &mut self.layer {
            Layer::Plain(wire) => Pin::new(wire).poll_read(cx, buf),
            Layer::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
        })?;
        if buf.filled().len() > before {
            self.gauge.lock().heard.get_or_insert_with(Instant::now);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.layer {
            Layer::Plain(wire) => Pin::new(wire).poll_write(cx, bytes),
            Layer::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(wire) => Pin::new(wire).poll_flush(cx),
            Layer::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.layer {
            Layer::Plain(wire) => Pin::new(wire).poll_shutdown(cx),
            Layer::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
