//! One revision, its text as the wiki had it, and what differs between two.

use axum::Json;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use malla_protocol::{Code, DiffKind, DiffPiece, DiffQuery, DiffView, RevisionView};
use malla_wiki::{Revision, WikiId, diff};

use super::{reader, revision};
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query};
use crate::view;

/// Show a revision without its text.
#[utoipa::path(get, path = "/api/v1/wiki/revisions/{wiki}/{revid}", tag = "wiki", operation_id = "show_revision",
    params(("wiki" = i64, Path), ("revid" = i64, Path)), responses((status = 200, body = RevisionView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path((wiki, revid)): Path<(String, String)>,
) -> Result<Json<RevisionView>, Refusal> {
    let (wiki, revision) = revision(&app, &who, &wiki, &revid).await?;
    shown(&app, wiki.id, revision).await.map(Json)
}

async fn shown(app: &App, wiki: WikiId, revision: Revision) -> Result<RevisionView, Refusal> {
    let page = app.wikis.page(wiki, revision.pageid).await?;
    Ok(view::wiki::revision(wiki, revision, page.as_ref().map(|page| page.facts.title.as_str())))
}

/// Get the text of a revision byte for byte.
#[utoipa::path(get, path = "/api/v1/wiki/revisions/{wiki}/{revid}/text", tag = "wiki", operation_id = "revision_text",
    params(("wiki" = i64, Path), ("revid" = i64, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "text/x-wiki")),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn text(
    State(app): State<App>,
    who: May<See>,
    Path((wiki, revid)): Path<(String, String)>,
) -> Result<(HeaderMap, Vec<u8>), Refusal> {
    let (wiki, revision) = revision(&app, &who, &wiki, &revid).await?;
    let _turn = app.wiki_turns().question().await?;
    let text = text_of(&app, wiki.id, &revision).await?;
    let kind = HeaderValue::try_from(format!("{}; charset=utf-8", revision.format));
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, kind.unwrap_or(HeaderValue::from_static("application/octet-stream")));
    // Whoever wrote it must not get to run it in a visitor's browser.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((headers, text))
}

async fn text_of(app: &App, wiki: WikiId, revision: &Revision) -> Result<Vec<u8>, Refusal> {
    let why = if revision.text_hidden { "is hidden by its wiki" } else { "is not kept" };
    let text = reader(app).text(wiki, revision.revid).await?;
    text.ok_or_else(|| Refusal::new(Code::NotFound, format!("the text of revision {} {why}", revision.revid.0)))
}

/// Compare the texts of two revisions of a wiki, word by word.
#[utoipa::path(get, path = "/api/v1/wiki/diff", tag = "wiki", operation_id = "diff_revisions",
    params(DiffQuery), responses((status = 200, body = DiffView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn compare(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<DiffQuery, NoParams>,
) -> Result<Json<DiffView>, Refusal> {
    let DiffQuery { wiki: Some(wiki), from: Some(from), to: Some(to) } = query else {
        return Err(Refusal::invalid("name the wiki and two of its revisions, as in ?wiki=1&from=17&to=23"));
    };
    let (wiki, old) = revision(&app, &who, &wiki.to_string(), &from.to_string()).await?;
    let (_, new) = revision(&app, &who, &wiki.id.to_string(), &to.to_string()).await?;
    let turn = app.wiki_turns().question().await?;
    let texts = (text_of(&app, wiki.id, &old).await?, text_of(&app, wiki.id, &new).await?);
    let pieces = tokio::task::spawn_blocking(move || {
        let (old, new) = (String::from_utf8_lossy(&texts.0), String::from_utf8_lossy(&texts.1));
        let pieces: Vec<DiffPiece> = diff::words(&old, &new).into_iter().map(piece).collect();
        // Whoever gave up waiting does not end this: the turn does.
        drop(turn);
        pieces
    });
    let pieces = pieces.await.map_err(|error| {
        tracing::error!(%error, "two texts could not be compared");
        Refusal::internal()
    })?;
    Ok(Json(DiffView { from: shown(&app, wiki.id, old).await?, to: shown(&app, wiki.id, new).await?, pieces }))
}

fn piece(piece: diff::Piece) -> DiffPiece {
    let kind = match piece.kind {
        diff::PieceKind::Same => DiffKind::Same,
        diff::PieceKind::Added => DiffKind::Added,
        diff::PieceKind::Removed => DiffKind::Removed,
    };
    DiffPiece { kind, text: piece.text }
}
