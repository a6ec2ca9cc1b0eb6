//! Targets: a web server that remembers what it got, and bare sockets that do as a test says.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Receiver {
    /// Answers 200 to everything.
    pub(crate) async fn new() -> Self {
        Self::answering(200, &[], "thanks").await
    }

    pub(crate) async fn answering(status: u16, headers: &[(&str, &str)], body: &'static str) -> Self {
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let headers: Arc<[(String, String)]> =
            headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let into = got.clone();
        let app = axum::Router::new().fallback(move |request: Request| {
            let (into, headers) = (into.clone(), headers.clone());
            async move {
                remember(&into, request).await;
                let mut answer = Response::builder().status(status);
                for (name, value) in headers.iter() {
                    answer = answer.header(name, value);
                }
                answer.body(Body::from(body)).expect("an answer")
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, got }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.got.lock().expect("no panic").clone()
    }

    /// The one request that came.
    #[track_caller]
    pub(crate) fn only(&self) -> Got {
        let got = self.got();
        assert_eq!(got.len(), 1, "{got:?}");
        got.into_iter().next().expect("one")
    }
}

async fn remember(into: &Mutex<Vec<Got>>, request: Request) {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.expect("a body");
    let got = Got { method: head.method.to_string(), uri: head.uri.to_string(), headers: head.headers, body };
    into.lock().expect("no panic").push(got);
}

/// A socket that treats its first connection as told. The handle ends when the treatment does.
pub(crate) async fn socket<F, T>(treat: F) -> (String, JoinHandle<T::Output>)
where
    F: FnOnce(TcpStream) -> T + Send + 'static,
    T: Future<Output: Send> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let treated = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        treat(stream).await
    });
    (format!("http://{address}/"), treated)
}
