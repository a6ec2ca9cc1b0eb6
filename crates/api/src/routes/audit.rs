//! The audit log: everything that changed something, newest first.

use axum::Json;
use axum::extract::State;
use malla_access::AuditFilter;
use malla_protocol::{AuditQuery, AuditView, Page, PageQuery};

use super::page;
use crate::App;
use crate::auth::{May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Query, limit, time};
use crate::view::{self, GroupNames};

/// List the audit log, newest first: an admin sees all, others what happened in their groups.
#[utoipa::path(get, path = "/api/v1/audit", tag = "access", operation_id = "list_audit",
    params(AuditQuery, PageQuery), responses((status = 200, body = Page<AuditView>)),
    extensions(("x-permission" = json!("see"))))]
pub(super) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, paging): Query<AuditQuery, PageQuery>,
) -> Result<Json<Page<AuditView>>, Refusal> {
    let (limit, below) = (limit(&paging)?, cursor::read_as::<i64>(List::Audit, paging.cursor.as_deref())?);
    let filter = AuditFilter {
        from: query.from.as_deref().map(|text| time("from", text, false)).transpose()?,
        to: query.to.as_deref().map(|text| time("to", text, true)).transpose()?,
        actor: query.actor,
        action: query.action,
        object: query.object,
    };
    let entries = app.access.audit(&who.scope(), &filter, below, limit + 1).await?;
    let names = GroupNames::of(&app, entries.iter().map(|entry| entry.group)).await?;
    Ok(Json(page(List::Audit, entries, limit, |entry| entry.id.to_string(), |entry| view::audit(entry, &names))))
}
