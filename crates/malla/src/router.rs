//! What this process answers over HTTP, put together from the rooms.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use malla_access::Passwords;
use malla_queue::SystemClock;
use malla_store::Opened;
use malla_store::bodies::Bodies;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::config::{Config, Shown};
use crate::roles::{Crew, Rooms};

/// The API and the console with what they work with.
pub(crate) fn router(
    config: &Config,
    clock: &Arc<SystemClock>,
    metrics: PrometheusHandle,
    store: &Opened,
    (notifying, fetching, wiki, analyzing): Rooms<'_>,
    passwords: Passwords,
    crew: &Crew,
) -> Router {
    let secure_cookies = config.tls().is_some() || config.console.behind_https;
    let settings = malla_api::Settings {
        body_bytes_max: config.http.body_bytes_max,
        request_timeout: Duration::from_secs(config.http.request_timeout_s),
        anonymous_role: config.anonymous_role(),
        metrics_public: config.metrics_public,
        secure_cookies,
        idempotency_keep: Duration::from_secs(config.http.idempotency_keep_h * 3_600),
        limits: config.limits(),
    };
    let (stopping, bodies) = (crew.stopping(), store.bodies.clone());
    let api = malla_api::router(malla_api::Services {
        queue: store.queue.clone(),
        access: store.access.clone(),
        notify: notifying.notify.clone(),
        statistics: notifying.statistics.clone(),
        alerts: notifying.alerts.clone(),
        intake: notifying.intake.clone(),
        fetch: fetching.fetch.clone(),
        tours: fetching.tours.clone(),
        dispatcher: fetching.dispatcher.clone(),
        fetching: fetching.for_api(),
        trust: store.trust.clone(),
        ledger: store.ledger.clone(),
        blocking: store.blocking.clone(),
        door: fetching.door.clone(),
        analyze: analyzing.analyze.clone(),
        analyzing: analyzing.for_api(),
        wikis: wiki.wikis.clone(),
        asking: wiki.asking.clone(),
        cluster: store.cluster.clone(),
        dead_after: config.cluster.dead_after(),
        clock: clock.clone(),
        passwords: passwords.clone(),
        metrics: Arc::new(move || metrics.render()),
        backend: store.backend,
        ready: Arc::new(move || if *stopping.borrow() { Err("shutting down".into()) } else { Ok(away(&*bodies)) }),
        settings: settings.clone(),
    });
    let console = malla_console::router(malla_console::Services {
        queue: store.queue.clone(),
        access: store.access.clone(),
        notify: notifying.notify.clone(),
        statistics: notifying.statistics.clone(),
        alerts: notifying.alerts.clone(),
        intake: notifying.intake.clone(),
        fetch: fetching.fetch.clone(),
        fetching: fetching.for_console(),
        tours: fetching.tours.clone(),
        trust: store.trust.clone(),
        ledger: store.ledger.clone(),
        blocking: store.blocking.clone(),
        door: fetching.door.clone(),
        analyze: analyzing.analyze.clone(),
        wikis: wiki.wikis.clone(),
        asking: wiki.asking.clone(),
        visits_per_day: wiki.visits_per_day(),
        cluster: store.cluster.clone(),
        dead_after: config.cluster.dead_after(),
        clock: clock.clone(),
        passwords,
        settings: malla_console::Settings {
            secure_cookies,
            session_lasts: Duration::from_secs(config.console.session_h * 3_600),
            anonymous_role: config.anonymous_role(),
            version: env!("CARGO_PKG_VERSION"),
            effective: config.shown.iter().map(Shown::for_console).collect(),
        },
    });
    malla_api::layers(api.merge(console), &settings)
}

/// What a process that is ready has to say about the object store. Names and addresses stay in the log.
pub(crate) fn away(bodies: &dyn Bodies) -> Option<String> {
    let since = jiff::Timestamp::from_millisecond(bodies.away()?.since.0).ok()?;
    Some(format!("the object store is away since {since}, and the server's log says why: bodies that lie there wait"))
}
