//! The results of a job, in the form that the client asks for.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use futures_util::stream::unfold;
use malla_fetch::warc::{self, RecordId};
use malla_fetch::{Answered, JobId, PageUrl};
use malla_protocol::{Code, FetchResult};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::answers::Follow;
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query};
use crate::view;

const NDJSON: &str = "application/x-ndjson";
const EVENT_STREAM: &str = "text/event-stream";
const WARC: &str = "application/warc";
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ResultsQuery {
    /// Go on after this many results.
    #[serde(default)]
    after: Option<String>,
    /// The form, for who cannot set `Accept`: `ndjson`, `sse` or `warc`.
    #[serde(default, rename = "as")]
    #[param(rename = "as")]
    form: Option<String>,
}

/// Get the results of a job, those that are there and those that come.
///
/// `Accept` chooses the form: `application/x-ndjson` (one result a line, the default), `text/event-stream`, or
/// `application/warc` (WARC 1.1, one gzip member a record). The answer ends when the job is over.
#[utoipa::path(get, path = "/api/v1/fetch/{job}/results", tag = "fetch", operation_id = "job_results",
    params(("job" = String, Path), ResultsQuery),
    responses((status = 200, content(
        (FetchResult = "application/x-ndjson"), (FetchResult = "text/event-stream"), (Vec<u8> = "application/warc")))),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn results(
    State(app): State<App>,
    who: May<See>,
    Path(job): Path<String>,
    Query(query, NoParams {}): Query<ResultsQuery, NoParams>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let id = app.fetch.job(&who.scope(), job.parse()?).await?.id;
    stream(app, id, &query, &headers)
}

/// The answers of a job that the caller may see.
pub(super) fn stream(app: App, id: JobId, query: &ResultsQuery, headers: &HeaderMap) -> Result<Response, Refusal> {
    let after = match query.after.as_deref().map(str::parse) {
        None => 0,
        Some(Ok(after)) => after,
        Some(Err(_)) => return Err(Refusal::invalid("the parameter after is a number of results")),
    };
    let turn = app
        .tail_turn()
        .ok_or_else(|| Refusal::new(Code::Full, "too many streams are open: close one or try again later"))?;
    let form = match query.form.as_deref() {
        None => form(headers)?,
        Some("ndjson") => Form::Lines,
        Some("sse") => Form::Events,
        Some("warc") => Form::Warc,
        Some(_) => return Err(Refusal::invalid("the parameter as is ndjson, sse or warc")),
    };
    let now = app.clock.now();
    let follow = Follow::new(app, id, after);
    Ok(match form {
        Form::Events => events(follow, id, turn).into_response(),
        Form::Lines => streamed(NDJSON, follow, None, move |answer| Some(line(id, answer)), turn),
        Form::Warc => {
            let info = record_id();
            let first = warc::warcinfo(info, now, concat!("malla/", env!("CARGO_PKG_VERSION")), "MallaBot");
            streamed(WARC, follow, Some(first), move |answer| record(answer, info), turn)
        }
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Form {
    Lines,
    Events,
    Warc,
}

fn form(headers: &HeaderMap) -> Result<Form, Refusal> {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    for kind in accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim()) {
        match kind {
            NDJSON | "application/ndjson" | "application/jsonl" | "application/json" | "application/*" | "*/*" => {
                return Ok(Form::Lines);
            }
            EVENT_STREAM | "text/*" => return Ok(Form::Events),
            WARC => return Ok(Form::Warc),
            _ => {}
        }
    }
    let forms = format!("{NDJSON}, {EVENT_STREAM} or {WARC}");
    Err(Refusal::invalid(format!("results come as {forms}: ask for one of these in Accept")))
}

/// One piece of bytes after the other, until the job is over.
fn streamed(
    kind: &'static str,
    follow: Follow,
    first: Option<Vec<u8>>,
    write: impl Fn(Answered) -> Option<Vec<u8>> + Send + 'static,
    turn: tokio::sync::OwnedSemaphorePermit,
) -> Response {
    let state = (follow, first, write, turn);
    let pieces = unfold(state, |(mut follow, first, write, turn)| async move {
        if let Some(first) = first {
            return Some((Ok::<_, std::io::Error>(Bytes::from(first)), (follow, None, write, turn)));
        }
        loop {
            match follow.next().await {
                Ok(Some(answer)) => {
                    if let Some(piece) = write(answer) {
                        return Some((Ok(Bytes::from(piece)), (follow, None, write, turn)));
                    }
                }
                Ok(None) if follow.is_over() => return None,
                // An error, so that the client sees that there would be more.
                Ok(None) | Err(_) => {
                    return Some((Err(std::io::Error::other("broke off")), (follow, None, write, turn)));
                }
            }
        }
    });
    // Whoever packs answers looks for more after the end.
    ([(CONTENT_TYPE, kind)], Body::from_stream(pieces.fuse())).into_response()
}

fn line(job: JobId, answer: Answered) -> Vec<u8> {
    let mut line = serde_json::to_vec(&view::fetch::result(job, answer)).expect("plain text and numbers");
    line.push(b'\n');
    line
}

fn events(
    follow: Follow,
    job: JobId,
    turn: tokio::sync::OwnedSemaphorePermit,
) -> Sse<impl futures_util::Stream<Item = Result<Event, Infallible>>> {
    let events = unfold((follow, false, turn), move |(mut follow, done, turn)| async move {
        if done {
            return None;
        }
        let event = super::scrap::next_event(&mut follow, job).await?;
        let over = follow.is_over();
        Some((Ok(event), (follow, over, turn)))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT_EVERY))
}

/// A record for a page that a site answered; others have no place in an archive.
fn record(answer: Answered, info: RecordId) -> Option<Vec<u8>> {
    let Answered { page, .. } = answer;
    let (url, body) = (PageUrl::parse(&page.url).ok()?, malla_fetch::unpack_page(&page).ok()?);
    let archived = warc::Archived {
        url: &url,
        fetched_at: page.fetched_at,
        status: page.status,
        headers: &page.headers,
        body: &body,
        trouble: page.trouble.map(|trouble| trouble.what),
    };
    warc::response(record_id(), info, &archived)
}

fn record_id() -> RecordId {
    let mut bytes = [0; 16];
    // Without randomness the records have the same name, which readers tolerate.
    let _ = getrandom::fill(&mut bytes);
    RecordId::from_random(bytes)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn accept_chooses_the_form() {
        for (accept, expected) in [
            ("*/*", Some(Form::Lines)),
            ("application/x-ndjson", Some(Form::Lines)),
            ("text/event-stream", Some(Form::Events)),
            ("text/html, application/warc;q=0.9", Some(Form::Warc)),
            ("image/png", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(form(&headers).ok(), expected, "{accept}");
        }
        assert_eq!(form(&HeaderMap::new()).ok(), Some(Form::Lines));
    }
}
