//! Dumps: begun, and taken in batch by batch. Whoever sends them reads and cuts the file.

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, LOCATION};
use axum::http::{HeaderName, StatusCode};
use malla_access::Principal;
use malla_protocol::{Code, ImportView, NewImport, Page, PageQuery, TakeBatchQuery};
use malla_queue::Act;
use malla_wiki::{Import, ImportId, NewWiki, Wiki, WikiId, dump};
use serde_json::json;
use url::Url;

use super::BATCH_BYTES_MAX;
use super::address::{api_of, locale_of};
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::owner::owner;
use crate::routes::page;
use crate::view::{self, GroupNames};
use crate::write::{AnyJson, Write};

/// Begin to import a dump, or go on with one.
///
/// Its batches go to `/api/v1/wiki/imports/{id}/batches/{number}`, from the number that `batches` says.
#[utoipa::path(post, path = "/api/v1/wiki/imports", tag = "wiki", operation_id = "begin_import",
    request_body = NewImport, responses((status = 201, body = ImportView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn begin(
    State(app): State<App>,
    who: May<Change>,
    write: Write<AnyJson<NewImport>>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<ImportView>), Refusal> {
    let AnyJson(new) = &write.body;
    if new.dump.trim().is_empty() {
        return Err(Refusal::invalid("dump is empty: name the file, so that the import can go on after a break"));
    }
    let wiki = wiki_of(&app, &who, new).await?;
    let detail = json!({ "wiki": wiki.id.0, "api": wiki.api.as_str() });
    let act = Act { group: wiki.group, detail, ..write.act(&who, "wiki.import", &new.dump) };
    let begun = malla_wiki::NewImport { wiki: wiki.id, name: new.dump.clone() };
    let import = app.wikis.begin_import(&who.scope(), begun, act).await?;
    let place = format!("/api/v1/wiki/imports/{}", import.id);
    Ok((StatusCode::CREATED, [(LOCATION, place)], shown(&app, import).await?))
}

/// The wiki that a dump is of: one that is known, else a new one.
async fn wiki_of(app: &App, who: &Principal, new: &NewImport) -> Result<Wiki, Refusal> {
    if let Some(number) = new.wiki {
        return Ok(app.wikis.wiki(&who.scope(), WikiId(number)).await?);
    }
    let group = owner(app, who, new.group.as_deref()).await?.map(|owner| owner.id);
    let api = api_of(new)?;
    let known = app.wikis.wikis_at(group, &origin(&api)).await?;
    // A dump names a page of its wiki and not its API: the only wiki of that host must be it.
    let only = known.len() == 1 && new.api.is_none();
    if let Some(same) = known.into_iter().find(|wiki| only || wiki.api == api) {
        return Ok(same);
    }
    let locale = new.locale.clone().unwrap_or_else(|| locale_of(&api));
    let name = new.name.clone().unwrap_or_else(|| api.host_str().unwrap_or_default().to_owned());
    let about = new.about.clone().unwrap_or_else(|| json!({}));
    Ok(app.wikis.found(NewWiki { group, api, locale, name, about, scraped: false }).await?)
}

fn origin(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or(0);
    format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default())
}

async fn shown(app: &App, import: Import) -> Result<Json<ImportView>, Refusal> {
    let names = GroupNames::of(app, [import.group]).await?;
    Ok(Json(view::wiki::import(import, &names)))
}

/// Send a batch of a dump, as `malla wiki import` makes them.
///
/// A 204 means that it is safe. One that was taken in before is a 204 and changes nothing; one too high is a `conflict`.
#[utoipa::path(put, path = "/api/v1/wiki/imports/{id}/batches/{number}", tag = "wiki", operation_id = "send_dump_batch",
    params(("id" = String, Path), ("number" = u64, Path, description = "From 0"), TakeBatchQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn take(
    State(app): State<App>,
    who: May<Change>,
    Path((id, number)): Path<(String, String)>,
    Query(query, NoParams {}): Query<TakeBatchQuery, NoParams>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let import = app.wikis.import(&who.scope(), id.parse()?).await?;
    let number: u64 =
        number.parse().map_err(|_| Refusal::invalid(format!("\"{number}\" is not a batch's number: begin with 0")))?;
    if number < import.batches {
        return Ok(StatusCode::NO_CONTENT);
    }
    if number > import.batches {
        let detail = format!("batch {number} comes too early: the next one has the number {}", import.batches);
        return Err(Refusal::new(Code::Conflict, detail));
    }
    let _turn = app.wiki_turns().batch().await?;
    let bytes = body(request, BATCH_BYTES_MAX).await?;
    dump::take(app.wikis.as_ref(), &import, number, &bytes, query.last.unwrap_or(false)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn body(request: Request, max: usize) -> Result<axum::body::Bytes, Refusal> {
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|bytes| bytes > max) {
        return Err(Refusal::new(
            Code::TooLarge,
            format!("the batch is larger than {max} bytes: cut the dump smaller"),
        ));
    }
    let broken = |_| Refusal::invalid(format!("the body broke off, or is larger than {max} bytes: send it again"));
    to_bytes(request.into_body(), max).await.map_err(broken)
}

/// List imports, newest first.
#[utoipa::path(get, path = "/api/v1/wiki/imports", tag = "wiki", operation_id = "list_imports",
    params(PageQuery), responses((status = 200, body = Page<ImportView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<ImportView>>, Refusal> {
    let limit = limit(&query)?;
    let below: Option<ImportId> = cursor::read_as(List::Imports, query.cursor.as_deref())?;
    let found = app.wikis.imports(&who.scope(), below, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|import| import.group)).await?;
    let place = |import: &Import| import.id.to_string();
    Ok(Json(page(List::Imports, found, limit, place, |one| view::wiki::import(one, &names))))
}

/// Show how far an import is.
#[utoipa::path(get, path = "/api/v1/wiki/imports/{id}", tag = "wiki", operation_id = "show_import",
    params(("id" = String, Path)), responses((status = 200, body = ImportView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<ImportView>, Refusal> {
    let import = app.wikis.import(&who.scope(), id.parse()?).await?;
    shown(&app, import).await
}
