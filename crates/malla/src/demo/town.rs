//! The demo's world: one port on loopback, on which every name below `localhost` is a site of its own. News, a shop, an
//! archive and an attic are there to be fetched, a wiki to be read, a receiver to be sent to.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::response::{IntoResponse as _, Response};
use malla_queue::UnixMs;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::kept::Kept;
use super::receiver::Receiver;
use super::site;
use super::wiki_site::WikiSite;

/// It ends when it is dropped.
pub(super) struct Town {
    world: Arc<World>,
    serving: JoinHandle<()>,
}

/// What the sites stand on.
pub(super) struct World {
    pub(super) port: u16,
    pub(super) opened: Instant,
    pub(super) wiki: WikiSite,
    pub(super) receiver: Receiver,
}

impl Town {
    /// At the port of the last time if that is free, else at another one.
    pub(super) async fn open(data: &Path, kept: Option<&Kept>, now: UnixMs) -> Result<Self> {
        let wiki = WikiSite::open(data, kept.map_or(now.0 / 1_000, |kept| kept.began))?;
        let listener = match kept {
            Some(kept) => match TcpListener::bind((Ipv4Addr::LOCALHOST, kept.port)).await {
                Ok(listener) => Ok(listener),
                Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
            },
            None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
        };
        let listener = listener.context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let world = Arc::new(World { port, opened: Instant::now(), wiki, receiver: Receiver::default() });
        let router = Router::new().fallback(answer).with_state(world.clone());
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the demo's sites ended");
            }
        });
        Ok(Self { world, serving })
    }

    pub(super) fn port(&self) -> u16 {
        self.world.port
    }

    pub(super) fn world(&self) -> &World {
        &self.world
    }

    /// `http://news.localhost:4321/story/3`
    pub(super) fn url(&self, site: &str, path: &str) -> String {
        format!("http://{site}.localhost:{}{path}", self.port())
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(world): State<Arc<World>>, request: Request) -> Response {
    // What was sent is of no interest here.
    let request = request.into_parts().0;
    let host = request.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    let name = name.strip_suffix(".localhost").unwrap_or(name).to_owned();
    match name.as_str() {
        "wiki" | "127.0.0.1" => world.wiki.answer(&request),
        "receiver" => world.receiver.answer(&request, world.opened.elapsed()).await,
        name if site::NAMES.contains(&name) => site::answer(name, &request, world.port, world.opened.elapsed()).await,
        _ => (StatusCode::NOT_FOUND, "there is no such site in this demo\n").into_response(),
    }
}
