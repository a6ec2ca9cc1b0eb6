//! Statistics about endpoints and subscriptions.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use malla_access::Principal;
use malla_notify::{Subject, summarize};
use malla_protocol::{Statistics, StatisticsQuery, Step};
use malla_queue::UnixMs;

use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Query, time};
use crate::view;

/// Show what was counted about a subscription, an endpoint, or all of them.
///
/// By the minute, the hour or the day, with a summary of the range. These are figures for people: a process that is
/// killed takes the last seconds of them along.
#[utoipa::path(get, path = "/api/v1/statistics", tag = "notify", operation_id = "show_statistics",
    params(StatisticsQuery), responses((status = 200, body = Statistics)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<StatisticsQuery, NoParams>,
) -> Result<Json<Statistics>, Refusal> {
    let step = query.step.unwrap_or_default();
    let (from, to) = range(&query, step, app.clock.now())?;
    let subject = subject(&app, &who, &query).await?;
    let found = app.statistics.figures(&who.scope(), subject, view::statistics::step(step), from, to).await?;
    let summary = summarize(&found, to.min(app.clock.now()));
    Ok(Json(Statistics {
        step,
        from: view::time(from),
        to: view::time(to),
        items: found.iter().map(|(at, figures)| view::statistics::figures(*at, figures)).collect(),
        summary: view::statistics::summary(&summary),
    }))
}

async fn subject(app: &App, who: &Principal, query: &StatisticsQuery) -> Result<Option<Subject>, Refusal> {
    match (&query.subscription, &query.endpoint) {
        (Some(_), Some(_)) => Err(Refusal::invalid("give a subscription or an endpoint, not both")),
        (Some(name), None) => Ok(Some(Subject::Subscription(app.notify.subscription(&who.scope(), name).await?.id))),
        (None, Some(name)) => Ok(Some(Subject::Endpoint(app.notify.endpoint(&who.scope(), name).await?.id))),
        (None, None) => Ok(None),
    }
}

fn range(query: &StatisticsQuery, step: Step, now: UnixMs) -> Result<(UnixMs, UnixMs), Refusal> {
    let to = query.to.as_deref().map_or(Ok(now), |text| time("to", text, true))?;
    let from = match query.from.as_deref() {
        Some(text) => time("from", text, false)?,
        None => to.minus(usual(step)),
    };
    Ok((from, to))
}

fn usual(step: Step) -> Duration {
    Duration::from_secs(match step {
        Step::Minute => 3_600,
        Step::Hour => 2 * 86_400,
        Step::Day => 90 * 86_400,
    })
}
