//! The answers of an analysis: as they were made, or made from what is known so far.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use malla_analyze::{Study, StudyState};
use malla_protocol::{AnswerFormat, AnswerQuery, Code};
use sha2::{Digest as _, Sha256};

use super::ended_badly;
use super::table::table;
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query};
use crate::view::analyze::left_s;

const JSON: &str = "application/json";
const CSV: &str = "text/csv; charset=utf-8";
/// Whoever waits for an answer comes back within this, in seconds.
const RETRY_S: std::ops::RangeInclusive<u64> = 1..=10;

/// Get an answer.
///
/// Until it is ready, this is refused with `not_available`, and `Retry-After` says when to come back; with
/// `partial=true` it is made from the batches that were worked on so far. As CSV (`format=csv`, or `Accept: text/csv`) it
/// is the list in it, or its fields if there is none.
#[utoipa::path(get, path = "/api/v1/analyses/{id}/results/{name}", tag = "analyze", operation_id = "show_answer",
    params(("id" = String, Path), ("name" = String, Path, description = "`rain`, `year` or `city` of `bike-rides`"),
        AnswerQuery),
    responses((status = 200, content((serde_json::Value = "application/json"), (String = "text/csv"))), (status = 304)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path((id, name)): Path<(String, String)>,
    Query(query, NoParams {}): Query<AnswerQuery, NoParams>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let study = app.analyze.study(&who.scope(), id.parse()?).await?;
    known(&study, &name)?;
    let format = query.format.unwrap_or_else(|| accepted(&headers));
    let answer = match (study.state, query.partial) {
        (StudyState::Collecting | StudyState::Computing, Some(true)) => so_far(&app, &who, study, &name).await?,
        _ => made(&app, &study, &name).await?,
    };
    written(answer, format, &headers)
}

fn known(study: &Study, name: &str) -> Result<(), Refusal> {
    let names = study.analysis()?.answers();
    if names.contains(&name) {
        return Ok(());
    }
    let (kind, names) = (&study.kind, names.join(", "));
    Err(Refusal::new(Code::NotFound, format!("\"{name}\" is not an answer of {kind}: there are {names}")))
}

/// An answer that is ready.
async fn made(app: &App, study: &Study, name: &str) -> Result<Vec<u8>, Refusal> {
    if let Some(refusal) = ended_badly(study) {
        return Err(refusal);
    }
    if study.state != StudyState::Succeeded {
        return Err(not_ready(study, left_s(study, app.clock.now())));
    }
    let answer = app.analyze.answer(study.id, name).await?;
    answer.ok_or_else(|| Refusal::new(Code::NotFound, format!("the analysis {} was forgotten", study.id)))
}

fn not_ready(study: &Study, left_s: Option<u64>) -> Refusal {
    let (mapped, all) = (study.mapped, study.expected.unwrap_or(study.taken));
    let advice = match study.state {
        StudyState::Collecting => "; complete it when all are sent",
        _ => "",
    };
    let detail = format!("the answers are not ready: {mapped} of {all} batches are worked on{advice}");
    let seconds = left_s.unwrap_or(*RETRY_S.start()).clamp(*RETRY_S.start(), *RETRY_S.end());
    Refusal::new(Code::NotAvailable, detail).retry_after_ms(seconds * 1_000)
}

/// An answer from what is known so far.
async fn so_far(app: &App, who: &May<See>, study: Study, name: &str) -> Result<Vec<u8>, Refusal> {
    let _turn = app.turns().partial().await?;
    let id = study.id;
    let answers = malla_analyze::answers(&app.analyze, Arc::new(study)).await?;
    // If it has come to its end meanwhile, what was read may have been on its way out.
    let study = app.analyze.study(&who.scope(), id).await?;
    if study.state.is_over() {
        return made(app, &study, name).await;
    }
    let answers = answers.map_err(|rejected| Refusal::new(Code::Conflict, rejected.to_string()))?;
    let found = answers.into_iter().find_map(|(of, answer)| (of == name).then_some(answer));
    found.ok_or_else(Refusal::internal)
}

fn accepted(headers: &HeaderMap) -> AnswerFormat {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kinds = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
    let formats = kinds.filter_map(|kind| match kind {
        "text/csv" => Some(AnswerFormat::Csv),
        JSON | "*/*" => Some(AnswerFormat::Json),
        _ => None,
    });
    formats.into_iter().next().unwrap_or(AnswerFormat::Json)
}

fn written(answer: Vec<u8>, format: AnswerFormat, headers: &HeaderMap) -> Result<Response, Refusal> {
    let (kind, body) = match format {
        AnswerFormat::Json => (JSON, answer),
        AnswerFormat::Csv => {
            let answer = serde_json::from_slice(&answer).map_err(|error| {
                tracing::error!(%error, "a stored answer is not JSON");
                Refusal::internal()
            })?;
            (CSV, table(&answer).into_bytes())
        }
    };
    // Weak, because the answer may be packed on its way.
    let tag = format!("W/\"{}\"", hex(&Sha256::digest(&body)[..16]));
    let same = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let same = same
        .flat_map(|value| value.split(','))
        .any(|known| matches!(known.trim(), known if known == "*" || known == tag));
    let tag = HeaderValue::try_from(tag).map_err(|_| Refusal::internal())?;
    let about = [
        (ETAG, tag),
        (VARY, HeaderValue::from_static("accept")),
        (CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
    ];
    if same {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    Ok((about, [(CONTENT_TYPE, kind)], body).into_response())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_chooses_the_form() {
        for (accept, expected) in [
            ("", AnswerFormat::Json),
            ("*/*", AnswerFormat::Json),
            ("text/csv", AnswerFormat::Csv),
            ("text/html, text/csv;q=0.9, */*;q=0.8", AnswerFormat::Csv),
            ("application/json, text/csv", AnswerFormat::Json),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(accepted(&headers), expected, "{accept}");
        }
    }
}
