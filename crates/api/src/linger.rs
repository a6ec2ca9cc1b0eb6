//! Reads on what a client still sends after its request was answered. A connection that is closed with unread bytes in
//! it is reset, and a client that sends first and reads afterwards would never see why it was refused.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::http::version::Version;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;

/// Whoever sends more, or slower, is cut off.
const BYTES_MAX: usize = 64 * 1024 * 1024;
const TIME_MAX: Duration = Duration::from_secs(10);

/// The body of a request, lent to its handler.
struct Lent {
    body: BodyDataStream,
    ended: bool,
}

impl Lent {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let next = self.body.poll_next_unpin(context);
        self.ended |= matches!(next, Poll::Ready(None | Some(Err(_))));
        next
    }

    async fn throw_away(mut self) {
        let mut bytes = 0;
        while let Some(Ok(chunk)) = self.body.next().await {
            bytes += chunk.len();
            if bytes > BYTES_MAX {
                break;
            }
        }
    }
}

pub(crate) async fn linger(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // HTTP/2 can say that it wants no more, and so can we to whoever asked before sending.
    let asks = parts.version >= Version::HTTP_2 || parts.headers.contains_key(EXPECT);
    if asks || body.is_end_stream() {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let ours = Arc::new(Mutex::new(Lent { body: body.into_data_stream(), ended: false }));
    let theirs = Arc::clone(&ours);
    let body = poll_fn(move |context| theirs.lock().unwrap_or_else(PoisonError::into_inner).poll_next(context));
    let response = next.run(Request::from_parts(parts, Body::from_stream(body))).await;
    // Whoever still has the other half goes on reading by himself.
    if let Some(lent) = Arc::into_inner(ours)
        && let Ok(lent) = lent.into_inner()
        && !lent.ended
    {
        tokio::spawn(tokio::time::timeout(TIME_MAX, lent.throw_away()));
    }
    response
}
