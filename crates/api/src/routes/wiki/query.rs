//! `POST /api/v1/query`: an aggregation pipeline over what is kept.

use axum::Json;
use axum::extract::State;
use malla_protocol::PipelineQuery;
use malla_wiki::Dates;
use malla_wiki::pipeline::{self, Collection};
use serde_json::Value;

use super::fields::{Pairs, given};
use super::{LIMITS, reader};
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::write::{AnyJson, Write};

/// Ask with an aggregation pipeline.
///
/// The body is an array of stages: `$match`, `$group`, `$sort`, `$limit`, `$skip`, `$project`, `$count`. Dates are answered
/// as `{"$date": milliseconds}`. An answer of over 10,000 objects, or one that takes longer than ten seconds, is refused.
#[utoipa::path(post, path = "/api/v1/query", tag = "wiki", operation_id = "query",
    params(PipelineQuery), request_body = Vec<serde_json::Value>,
    responses((status = 200, body = Vec<serde_json::Value>)), extensions(("x-permission" = json!("see"))))]
pub(crate) async fn query(
    State(app): State<App>,
    who: May<See>,
    Pairs(pairs): Pairs,
    write: Write<AnyJson<pipeline::Written>>,
) -> Result<Json<Vec<Value>>, Refusal> {
    let collection = match given(&pairs, "collection").as_deref() {
        None | Some("revisions") => Collection::Revisions,
        Some("articles") => Collection::Articles,
        Some(other) => {
            let detail = format!("collection: \"{other}\" is not one: ask for revisions or articles");
            return Err(Refusal::invalid(detail));
        }
    };
    let plan = pipeline::parse(write.body.0, collection, given(&pairs, "date_format").as_deref())?;
    let _turn = app.wiki_turns().question().await?;
    Ok(Json(reader(&app).documents(&who.scope(), &plan, Dates::Extended, LIMITS).await?))
}
