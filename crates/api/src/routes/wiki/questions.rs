//! What is kept, asked in the ways that existing clients know. Answers are bare: a list, or one object.

use axum::Json;
use axum::extract::State;
use malla_access::Principal;
use malla_protocol::{ArticleFilters, AvgView, CountView, RevisionFilters, Shown};
use malla_wiki::Dates;
use malla_wiki::pipeline::Plan;
use malla_wiki::questions;
use serde_json::{Map, Value};

use super::fields::Pairs;
use super::{LIMITS, reader};
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::Path;

/// List articles.
#[utoipa::path(get, path = "/api/v1/articles", tag = "wiki", operation_id = "articles",
    params(ArticleFilters, Shown), responses((status = 200, body = Vec<serde_json::Value>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn articles(
    State(app): State<App>,
    who: May<See>,
    Pairs(pairs): Pairs,
) -> Result<Json<Vec<Value>>, Refusal> {
    documents(&app, &who, &questions::articles(&pairs)?).await.map(Json)
}

/// Show one article by its number, or an empty object.
#[utoipa::path(get, path = "/api/v1/articles/{pageid}", tag = "wiki", operation_id = "article",
    params(("pageid" = i64, Path), ArticleFilters), responses((status = 200, body = serde_json::Value)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn article(
    State(app): State<App>,
    who: May<See>,
    Path(pageid): Path<String>,
    Pairs(pairs): Pairs,
) -> Result<Json<Value>, Refusal> {
    let number = pageid.parse().map_err(|_| Refusal::invalid(format!("pageid: \"{pageid}\" is not a number")))?;
    let found = documents(&app, &who, &questions::article(number, &pairs)?).await?;
    Ok(Json(found.into_iter().next().unwrap_or_else(|| Value::Object(Map::new()))))
}

/// List revisions, oldest first unless `sort=desc`.
#[utoipa::path(get, path = "/api/v1/revisions", tag = "wiki", operation_id = "revisions",
    params(RevisionFilters, Shown), responses((status = 200, body = Vec<serde_json::Value>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn revisions(
    State(app): State<App>,
    who: May<See>,
    Pairs(pairs): Pairs,
) -> Result<Json<Vec<Value>>, Refusal> {
    documents(&app, &who, &questions::revisions(&pairs)?).await.map(Json)
}

async fn documents(app: &App, who: &Principal, plan: &Plan) -> Result<Vec<Value>, Refusal> {
    let _turn = app.wiki_turns().question().await?;
    Ok(reader(app).documents(&who.scope(), plan, Dates::Iso, LIMITS).await?)
}

/// Count revisions.
#[utoipa::path(get, path = "/api/v1/count", tag = "wiki", operation_id = "count_revisions",
    params(RevisionFilters), responses((status = 200, body = CountView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn count(
    State(app): State<App>,
    who: May<See>,
    Pairs(pairs): Pairs,
) -> Result<Json<CountView>, Refusal> {
    let count = counted(&app, &who, &questions::count(&pairs)?).await?;
    Ok(Json(CountView { count: count.to_string() }))
}

/// Get the average of revisions a day, over the days from `datestart` to `dateend`, both whole.
#[utoipa::path(get, path = "/api/v1/avg", tag = "wiki", operation_id = "average_revisions",
    params(RevisionFilters), responses((status = 200, body = AvgView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn avg(State(app): State<App>, who: May<See>, Pairs(pairs): Pairs) -> Result<Json<AvgView>, Refusal> {
    let (plan, days) = questions::avg(&pairs)?;
    let count = counted(&app, &who, &plan).await?;
    Ok(Json(AvgView { avg: format!("{:.6}", count as f64 / days.max(1) as f64) }))
}

async fn counted(app: &App, who: &Principal, plan: &Plan) -> Result<u64, Refusal> {
    let _turn = app.wiki_turns().question().await?;
    Ok(reader(app).count(&who.scope(), plan, LIMITS).await?)
}

/// Get the most frequent value of an attribute: all that tie.
///
/// `attribute` is `title`, `pageid`, `user`, `userid`, `date` or `size`.
#[utoipa::path(get, path = "/api/v1/mode", tag = "wiki", operation_id = "mode_of_revisions",
    params(("attribute" = String, Query), RevisionFilters), responses((status = 200, body = serde_json::Value)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn mode(State(app): State<App>, who: May<See>, Pairs(pairs): Pairs) -> Result<Json<Value>, Refusal> {
    let (plan, attribute) = questions::mode(&pairs)?;
    let _turn = app.wiki_turns().question().await?;
    let values = reader(&app).mode(&who.scope(), &plan, LIMITS).await?;
    Ok(Json(Value::Object(Map::from_iter([(attribute, Value::Array(values))]))))
}
