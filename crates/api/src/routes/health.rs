//! For whoever keeps an eye on the process: is it alive, is it ready, what has it counted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use malla_access::Permission;
use malla_protocol::{Code, Health};
use malla_queue::{Clock, Queue, UnixMs};

use crate::App;
use crate::auth::{identify, permit};
use crate::problem::Refusal;
use crate::view;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// How long the store may take to say that it is there.
const PING_TIME_MAX: Duration = Duration::from_secs(2);

/// Since when the store is away, as far as anybody asked.
#[derive(Debug, Default)]
pub(crate) struct Absence(Mutex<Option<UnixMs>>);

impl Absence {
    fn over(&self) {
        *self.0.lock().expect("nobody panics while holding it") = None;
    }

    /// When it began; now, if it was there until now.
    fn since(&self, now: UnixMs) -> UnixMs {
        *self.0.lock().expect("nobody panics while holding it").get_or_insert(now)
    }
}

/// Whether the process lives.
#[utoipa::path(get, path = "/livez", tag = "house", operation_id = "livez", responses((status = 200, body = Health)))]
pub(super) async fn livez() -> Json<Health> {
    Json(Health { status: "ok".into(), note: None })
}

/// Whether it takes work: started, not stopping, and the store can write.
///
/// Answers within two seconds. If the store is away, it says which one and since when. If only bodies that lie in an object
/// store are away, it is ready all the same, and a note says so.
#[utoipa::path(get, path = "/readyz", tag = "house", operation_id = "readyz",
    responses((status = 200, body = Health)))]
pub(super) async fn readyz(State(app): State<App>) -> Result<Json<Health>, Refusal> {
    let note = (app.ready)().map_err(|why| Refusal::new(Code::Unavailable, format!("not ready: {why}")))?;
    store_is_there(&*app.queue, app.absence(), app.backend, &*app.clock, note).await
}

async fn store_is_there(
    queue: &dyn Queue,
    absence: &Absence,
    backend: &str,
    clock: &dyn Clock,
    note: Option<String>,
) -> Result<Json<Health>, Refusal> {
    let Err(why) = in_time(queue.ping()).await else {
        absence.over();
        return Ok(Json(Health { status: "ok".into(), note }));
    };
    // Anybody may ask here: names and addresses stay in the log.
    tracing::warn!(why, "not ready: the store is away");
    let since = view::time(absence.since(clock.now()));
    let detail = format!("not ready: the store ({backend}) is away since {since}, and the server's log says why");
    Err(Refusal::new(Code::Unavailable, detail))
}

/// What the store says, or that it says nothing.
async fn in_time(ping: impl Future<Output = malla_queue::Result<()>>) -> Result<(), String> {
    match tokio::time::timeout(PING_TIME_MAX, ping).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it did not answer within {PING_TIME_MAX:?}")),
    }
}

/// What has been counted, as Prometheus text. It may be set up to need a token.
#[utoipa::path(get, path = "/metrics", tag = "house", operation_id = "metrics",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn metrics(State(app): State<App>, headers: HeaderMap) -> Result<impl IntoResponse, Refusal> {
    if !app.settings.metrics_public {
        permit(&identify(&app, &headers, &Method::GET).await?, Permission::See)?;
    }
    Ok(([(CONTENT_TYPE, TEXT)], (app.metrics)()))
}

/// What a process without the API shows of itself.
#[derive(Clone)]
pub struct Watched {
    pub queue: Arc<dyn Queue>,
    pub clock: Arc<dyn Clock>,
    /// `sqlite` or `postgres`: what is away when the store is.
    pub backend: &'static str,
    /// Says why not while the process stops, and else what does not work at the moment.
    pub ready: Arc<dyn Fn() -> Result<Option<String>, String> + Send + Sync>,
    /// The metrics as Prometheus text.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

/// `/livez`, `/readyz` and `/metrics` alone, without a token: it is for whoever keeps an eye on a process that serves nobody.
pub fn watched(process: Watched) -> Router {
    let absence = Arc::new(Absence::default());
    let readyz = async |State((process, absence)): State<(Watched, Arc<Absence>)>| {
        let note = (process.ready)().map_err(|why| Refusal::new(Code::Unavailable, format!("not ready: {why}")))?;
        store_is_there(&*process.queue, &absence, process.backend, &*process.clock, note).await
    };
    let metrics =
        async |State((process, _)): State<(Watched, Arc<Absence>)>| ([(CONTENT_TYPE, TEXT)], (process.metrics)());
    let routes =
        Router::new().route("/livez", get(livez)).route("/readyz", get(readyz)).route("/metrics", get(metrics));
    routes.with_state((process, absence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_that_says_nothing_is_not_waited_for() {
        let began = tokio::time::Instant::now();
        let why = in_time(std::future::pending()).await.expect_err("no answer");
        assert_eq!((began.elapsed(), why.as_str()), (PING_TIME_MAX, "it did not answer within 2s"));
    }

    #[test]
    fn an_absence_keeps_its_beginning_until_it_is_over() {
        let absence = Absence::default();
        assert_eq!((absence.since(UnixMs(1)), absence.since(UnixMs(5))), (UnixMs(1), UnixMs(1)));
        absence.over();
        assert_eq!(absence.since(UnixMs(9)), UnixMs(9));
    }
}
