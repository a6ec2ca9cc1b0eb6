//! Figures about a page and about a wiki, as JSON or as tables.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use malla_protocol::{ExportFormat, MetricsQuery};
use malla_wiki::metrics::{self, ArticleMetrics, WikiMetrics};
use serde::Serialize;

use super::{page, wiki};
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query};

pub(super) const CSV: &str = "text/csv; charset=utf-8";

/// Get the figures of a page: editors, shares, edits over time, reverts, sizes.
///
/// As CSV they are lines of what is measured, of what, and how much.
#[utoipa::path(get, path = "/api/v1/wiki/pages/{wiki}/{pageid}/metrics", tag = "wiki", operation_id = "page_metrics",
    params(("wiki" = i64, Path), ("pageid" = i64, Path), MetricsQuery),
    responses((status = 200, content((serde_json::Value = "application/json"), (String = "text/csv")))),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn of_page(
    State(app): State<App>,
    who: May<See>,
    Path((wiki, pageid)): Path<(String, String)>,
    Query(query, NoParams {}): Query<MetricsQuery, NoParams>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (wiki, page) = page(&app, &who, &wiki, &pageid).await?;
    let _turn = app.wiki_turns().question().await?;
    let figures = metrics::of_page(app.wikis.as_ref(), &wiki, page.pageid).await?;
    written(&figures, ArticleMetrics::csv, query, &headers)
}

/// Get the figures of a wiki over all its pages that are kept.
#[utoipa::path(get, path = "/api/v1/wiki/wikis/{wiki}/metrics", tag = "wiki", operation_id = "wiki_metrics",
    params(("wiki" = i64, Path), MetricsQuery),
    responses((status = 200, content((serde_json::Value = "application/json"), (String = "text/csv")))),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn of_wiki(
    State(app): State<App>,
    who: May<See>,
    Path(number): Path<String>,
    Query(query, NoParams {}): Query<MetricsQuery, NoParams>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let wiki = wiki(&app, &who, &number).await?;
    let figures = metrics::of_wiki(app.wikis.as_ref(), &wiki).await?;
    written(&figures, WikiMetrics::csv, query, &headers)
}

fn written<T: Serialize>(
    figures: &T,
    csv: fn(&T) -> String,
    query: MetricsQuery,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    Ok(match query.format.unwrap_or_else(|| format(headers)) {
        ExportFormat::Json => Json(figures).into_response(),
        ExportFormat::Csv => ([(CONTENT_TYPE, CSV)], csv(figures)).into_response(),
    })
}

/// What `Accept` asks for.
pub(super) fn format(headers: &HeaderMap) -> ExportFormat {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut kinds = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
    match kinds.find(|kind| ["text/csv", "application/json", "application/x-ndjson", "*/*"].contains(kind)) {
        Some("text/csv") => ExportFormat::Csv,
        _ => ExportFormat::Json,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn accept_chooses_the_form() {
        for (accept, expected) in [
            ("", ExportFormat::Json),
            ("text/csv", ExportFormat::Csv),
            ("text/html, text/csv;q=0.9, */*;q=0.8", ExportFormat::Csv),
            ("application/json, text/csv", ExportFormat::Json),
            ("application/x-ndjson", ExportFormat::Json),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(format(&headers), expected, "{accept}");
        }
    }
}
