//! What keeps a few clients from taking the server away from all others: a limit on open connections, and a deadline
//! for a connection that says nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// After this many bytes the HTTP version is known, and the HTTP code's own timeouts take over.
const OPENING_BYTES: usize = 24;

/// Lets in as many connections as there are permits, each with a deadline for its first words.
#[derive(Clone)]
pub(crate) struct Guard<A> {
    inner: A,
    room: Arc<Semaphore>,
    opening: Duration,
}

impl<A> Guard<A> {
    pub(crate) fn new(inner: A, connections_max: usize, opening: Duration) -> Self {
        Self { inner, room: Arc::new(Semaphore::new(connections_max)), opening }
    }
}

impl<A, I, S> Accept<I, S> for Guard<A>
where
    A: Accept<I, S>,
    A::Stream: Send + 'static,
    A::Service: Send + 'static,
    A::Future: Send + 'static,
{
    type Stream = Guarded<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let Ok(permit) = self.room.clone().try_acquire_owned() else {
            tracing::warn!("too many connections: one was closed (http.connections_max)");
            return Box::pin(std::future::ready(Err(io::ErrorKind::ResourceBusy.into())));
        };
        let (accepted, opening) = (self.inner.accept(stream, service), self.opening);
        Box::pin(async move {
            let (inner, service) = accepted.await?;
            let opening = Some((Box::pin(tokio::time::sleep(opening)), 0));
            Ok((Guarded { inner, opening, _permit: permit }, service))
        })
    }
}

/// A connection that holds its place until it ends.
pub(crate) struct Guarded<S> {
    inner: S,
    /// The deadline and the bytes read so far, until the conversation has begun.
    opening: Option<(Pin<Box<Sleep>>, usize)>,
    _permit: OwnedSemaphorePermit,
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        let Some((deadline, bytes)) = &mut self.opening else { return read };
        *bytes += buf.filled().len() - before;
        if *bytes >= OPENING_BYTES {
            self.opening = None;
        } else if read.is_pending() && deadline.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.opening = None;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.opening = None;
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use axum_server::accept::DefaultAcceptor;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    const DEADLINE: Duration = Duration::from_millis(50);

    async fn enter(guard: &Guard<DefaultAcceptor>) -> (DuplexStream, io::Result<Guarded<DuplexStream>>) {
        let (client, server) = duplex(64);
        (client, guard.accept(server, ()).await.map(|(stream, ())| stream))
    }

    #[tokio::test]
    async fn connections_beyond_the_limit_are_closed_until_one_leaves() {
        let guard = Guard::new(DefaultAcceptor::new(), 1, DEADLINE);
        let (_first_client, first) = enter(&guard).await;
        assert!(first.is_ok());
        assert!(enter(&guard).await.1.is_err());
        drop(first);
        assert!(enter(&guard).await.1.is_ok());
    }

    #[tokio::test]
    async fn a_connection_that_says_too_little_is_closed_at_the_deadline() {
        let guard = Guard::new(DefaultAcceptor::new(), 1, DEADLINE);
        let (mut client, server) = enter(&guard).await;
        let mut server = server.expect("let in");
        client.write_all(b"PRI").await.expect("sent");
        let started = tokio::time::Instant::now();
        let mut heard = Vec::new();
        let error = server.read_to_end(&mut heard).await.expect_err("closed");
        assert_eq!((error.kind(), heard.as_slice()), (io::ErrorKind::TimedOut, &b"PRI"[..]));
        assert!(started.elapsed() >= DEADLINE);
    }

    #[tokio::test]
    async fn a_conversation_that_has_begun_may_pause_longer() {
        let guard = Guard::new(DefaultAcceptor::new(), 1, DEADLINE);
        let (mut client, server) = enter(&guard).await;
        let mut server = server.expect("let in");
        client.write_all(&[b'x'; OPENING_BYTES]).await.expect("sent");
        let mut heard = [0; OPENING_BYTES];
        server.read_exact(&mut heard).await.expect("heard");
        let more = tokio::time::timeout(DEADLINE * 4, server.read(&mut heard)).await;
        assert!(more.is_err(), "still open: {more:?}");
    }
}
