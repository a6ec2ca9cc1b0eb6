//! Sites that are never fetched, and how an owner of one asks for that.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use malla_fetch::blocklist::{Blocked, Pattern};
use malla_protocol::{BlockSite, BlockedQuery, BlockedView, Page};

use crate::App;
use crate::auth::{Administer, May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Query};
use crate::view::time;
use crate::write::{AnyJson, NoBody, Write};

/// List the sites that are never fetched: the configuration's and the operator's.
#[utoipa::path(get, path = "/api/v1/fetch/blocked", tag = "fetch", operation_id = "list_blocked",
    responses((status = 200, body = Page<BlockedView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(State(app): State<App>, _: May<See>) -> Result<Json<Page<BlockedView>>, Refusal> {
    let listed = app.blocking.blocked_sites().await?;
    let items = app.fetching.blocked.fixed().iter().chain(&listed).map(view).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

fn view(blocked: &Blocked) -> BlockedView {
    BlockedView {
        site: blocked.pattern.to_string(),
        why: blocked.why.clone(),
        contact: blocked.contact.clone(),
        by: blocked.by.clone(),
        at: (blocked.at.0 > 0).then(|| time(blocked.at)),
    }
}

/// Never fetch a site again. With a contact, it is the wish of its owner.
///
/// What waits there already ends with the reason.
#[utoipa::path(post, path = "/api/v1/fetch/blocked", tag = "fetch", operation_id = "block_site",
    request_body = BlockSite, responses((status = 201, body = BlockedView)),
    extensions(("x-permission" = json!("administer"))))]
pub(crate) async fn block(
    State(app): State<App>,
    who: May<Administer>,
    write: Write<AnyJson<BlockSite>>,
) -> Result<(StatusCode, Json<BlockedView>), Refusal> {
    let BlockSite { site, why, contact } = write.body.0.clone();
    let contact = contact.filter(|contact| !contact.is_empty());
    let (pattern, by): (Pattern, String) = (site.parse()?, who.actor.clone());
    let new = Blocked { pattern, why, contact, by, at: app.clock.now() };
    let action = if new.contact.is_some() { "site.opt_out" } else { "site.block" };
    let mut act = write.act(&who, action, format!("site {}", new.pattern));
    act.detail = serde_json::json!({ "why": new.why, "contact": new.contact });
    let made = app.blocking.block_site(new, act).await?;
    refresh(&app).await?;
    Ok((StatusCode::CREATED, Json(view(&made))))
}

/// Fetch a site again.
#[utoipa::path(delete, path = "/api/v1/fetch/blocked", tag = "fetch", operation_id = "unblock_site",
    params(BlockedQuery), responses((status = 204)),
    extensions(("x-permission" = json!("administer"))))]
pub(crate) async fn unblock(
    State(app): State<App>,
    who: May<Administer>,
    Query(query, NoParams {}): Query<BlockedQuery, NoParams>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    let pattern: Pattern = query.site.parse()?;
    let act = write.act(&who, "site.unblock", format!("site {pattern}"));
    app.blocking.unblock_site(&pattern, act).await?;
    refresh(&app).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Here at once; other nodes look every few seconds.
async fn refresh(app: &App) -> Result<(), Refusal> {
    app.fetching.blocked.set(app.blocking.blocked_sites().await?);
    Ok(())
}

/// What this fleet is, and whom an owner of a site can turn to.
#[utoipa::path(get, path = "/optout", tag = "fleet", operation_id = "opt_out",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn opt_out(State(app): State<App>) -> Response {
    let contact = match app.fetching.contact.as_str() {
        "" => "the operator of this server",
        contact => contact,
    };
    let text = format!(
        "MallaBot fetches pages for people who ask for them, one at a time from each site.\n\
         It obeys robots.txt (User-agent: MallaBot) and Crawl-delay, and slows down when a site answers 429 or 503.\n\
         If your site shall not be fetched at all, write to {contact} and name its address.\n"
    );
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
