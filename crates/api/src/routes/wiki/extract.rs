//! `extract`: somebody wants the history of a page; and `status`: how far that is.

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderName, StatusCode};
use malla_access::Principal;
use malla_protocol::{Extract, ExtractionPlace, ExtractionStatus};
use malla_queue::Act;
use malla_wiki::Target;
use serde_json::json;

use super::fields::{Fields, Here, Pairs, given};
use crate::App;
use crate::auth::{Change, May, See};
use crate::problem::Refusal;
use crate::query::Path;
use crate::routes::owner::owner;
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

type Accepted = (StatusCode, [(HeaderName, String); 1], Json<ExtractionPlace>);

/// Extract the history of a page.
///
/// `title` or `url` names it. While the same is under way, that one is the answer. How far it is stands at `Location`.
#[utoipa::path(get, path = "/api/v1/extract", tag = "wiki", operation_id = "extract",
    params(Extract), responses((status = 202, body = ExtractionPlace)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn get(
    State(app): State<App>,
    who: May<Change>,
    here: Here,
    Pairs(pairs): Pairs,
    write: Write<NoBody>,
) -> Result<Accepted, Refusal> {
    let act = write.act(&who, "wiki.extract", "");
    extract(&app, &who, &pairs, act, here).await
}

/// Extract the history of a page. The parameters may come in the query, as a form or as JSON.
#[utoipa::path(post, path = "/api/v1/extract", tag = "wiki", operation_id = "post_extract",
    params(Extract), request_body(content(
        (Extract = "application/json"), (Extract = "application/x-www-form-urlencoded"))),
    responses((status = 202, body = ExtractionPlace)), extensions(("x-permission" = json!("change"))))]
pub(crate) async fn post(
    State(app): State<App>,
    who: May<Change>,
    here: Here,
    Pairs(mut pairs): Pairs,
    write: Write<Fields>,
) -> Result<Accepted, Refusal> {
    let act = write.act(&who, "wiki.extract", "");
    pairs.extend(write.body.0);
    extract(&app, &who, &pairs, act, here).await
}

async fn extract(
    app: &App,
    who: &Principal,
    pairs: &[(String, String)],
    act: Act,
    Here(here): Here,
) -> Result<Accepted, Refusal> {
    let target = target(pairs)?;
    let asked = match &target {
        Target::Title { title, .. } => title.clone(),
        Target::Url(url) => url.clone(),
    };
    let group = owner(app, who, given(pairs, "group").as_deref()).await?.map(|owner| owner.id);
    let detail = json!({ "locale": given(pairs, "locale") });
    let extraction = app.asking.extract(group, target, Act { group, detail, object: asked, ..act }).await?;
    let location = format!("{here}/api/v1/status/{}?name=extract_article", extraction.id);
    Ok((StatusCode::ACCEPTED, [(LOCATION, location.clone())], Json(ExtractionPlace { location })))
}

fn target(pairs: &[(String, String)]) -> Result<Target, Refusal> {
    match (given(pairs, "title"), given(pairs, "url")) {
        (Some(title), None) => Ok(Target::Title { title, locale: given(pairs, "locale") }),
        (None, Some(url)) => Ok(Target::Url(url)),
        (Some(_), Some(_)) => Err(Refusal::invalid("title and url are both given: name the page with one of them")),
        (None, None) => Err(Refusal::invalid("there is nothing to extract: name the page with title= or url=")),
    }
}

/// Show how far an extraction is.
#[utoipa::path(get, path = "/api/v1/status/{id}", tag = "wiki", operation_id = "extraction_status",
    params(("id" = String, Path)), responses((status = 200, body = ExtractionStatus)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn status(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<ExtractionStatus>, Refusal> {
    let extraction = app.wikis.extraction(&who.scope(), id.parse()?).await?;
    let names = GroupNames::of(&app, [extraction.group]).await?;
    Ok(Json(view::wiki::status(extraction, &names, app.clock.now())))
}
