//! `POST /scrap`: URLs in, results out as they come. And `POST /reset`, which forgets what is cached.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use malla_fetch::{JobId, PageUrl};
use malla_protocol::{Code, FetchPages, FetchResult, Forgotten};

use super::answers::Follow;
use super::ask;
use crate::App;
use crate::auth::{Change, May};
use crate::problem::Refusal;
use crate::routes::owner::owner;
use crate::view;
use crate::write::{AnyJson, Write};

const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
const LAST_EVENT_ID: &str = "last-event-id";

macro_rules! route {
    ($name:ident, $path:literal, $id:literal) => {
        /// Fetch pages and get each as it arrives.
        ///
        /// Server-sent events: a `result` for each URL, then `done`. A broken connection is taken up again by the same
        /// request with `Last-Event-ID`: the job goes on meanwhile.
        #[utoipa::path(post, path = $path, tag = "fetch", operation_id = $id,
                                    request_body = FetchPages,
                                    responses((status = 200, body = FetchResult, content_type = "text/event-stream")),
                                    extensions(("x-permission" = json!("change"))))]
        pub(crate) async fn $name(
            State(app): State<App>,
            who: May<Change>,
            headers: HeaderMap,
            write: Write<AnyJson<FetchPages>>,
        ) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
            scrap(app, who, headers, write).await
        }
    };
}

route!(post, "/scrap", "scrap");
route!(post_api, "/api/v1/scrap", "scrap_v1");

async fn scrap(
    app: App,
    who: May<Change>,
    headers: HeaderMap,
    write: Write<AnyJson<FetchPages>>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let turn = app
        .tail_turn()
        .ok_or_else(|| Refusal::new(Code::Full, "too many streams are open: close one or try again later"))?;
    let (job, after) = match headers.get(LAST_EVENT_ID) {
        Some(place) => {
            let (job, after) = place.to_str().ok().and_then(read_place).ok_or_else(|| {
                Refusal::invalid("the Last-Event-ID is not one of this server's: leave it out to start anew")
            })?;
            (app.fetch.job(&who.scope(), job).await?.id, after)
        }
        None => {
            let pages = &write.body.0;
            let group = owner(&app, &who, pages.group.as_deref()).await?.map(|owner| owner.id);
            (ask(&app, pages, group, write.act(&who, "fetch.ask", "pages")).await?.id, 0)
        }
    };
    let state = (Follow::new(app, job, after), job, false, turn);
    let events = unfold(state, move |(mut follow, job, done, turn)| async move {
        if done {
            return None;
        }
        let event = next_event(&mut follow, job).await?;
        let over = follow.is_over();
        Some((Ok(event), (follow, job, over, turn)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT_EVERY)))
}

/// The next event of the stream; `None` breaks it off, so that the client takes it up again.
pub(super) async fn next_event(follow: &mut Follow, job: JobId) -> Option<Event> {
    match follow.next().await {
        Ok(Some(answer)) => {
            let id = format!("{job}:{}", answer.n);
            Event::default().event("result").id(id).json_data(view::fetch::result(job, answer)).ok()
        }
        Ok(None) if follow.is_over() => Some(Event::default().event("done").data(format!("{{\"job\":\"{job}\"}}"))),
        Ok(None) => None,
        Err(refusal) => {
            tracing::warn!(?refusal, %job, "a stream of results broke off");
            None
        }
    }
}

fn read_place(text: &str) -> Option<(JobId, u64)> {
    let (job, after) = text.split_once(':')?;
    Some((job.parse().ok()?, after.parse().ok()?))
}

macro_rules! reset_route {
    ($name:ident, $path:literal, $id:literal) => {
        /// Forget the cached results of these URLs: they are fetched anew when asked for.
        #[utoipa::path(post, path = $path, tag = "fetch", operation_id = $id,
                    request_body = FetchPages, responses((status = 200, body = Forgotten)),
                    extensions(("x-permission" = json!("change"))))]
        pub(crate) async fn $name(
            State(app): State<App>,
            who: May<Change>,
            write: Write<AnyJson<FetchPages>>,
        ) -> Result<Json<Forgotten>, Refusal> {
            let urls = &write.body.0.urls;
            let keys = urls.iter().filter_map(|url| PageUrl::parse(url).ok()).map(|url| url.key()).collect();
            let mut act = write.act(&who, "fetch.reset", "pages");
            act.detail = serde_json::json!({ "urls": urls.len() });
            Ok(Json(Forgotten { forgotten: app.fetch.forget(keys, act).await? }))
        }
    };
}

reset_route!(reset, "/reset", "reset");
reset_route!(reset_api, "/api/v1/reset", "reset_v1");
