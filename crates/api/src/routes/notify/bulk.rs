//! A person's verb on every notification that matches a filter.

use axum::Json;
use axum::extract::State;
use malla_access::Principal;
use malla_protocol::{AllQuery, Bulk, NotificationQuery};
use malla_queue::{Act, Move};

use super::super::bulk::{Pace, nth_act, only};
use super::notifications;
use crate::App;
use crate::auth::{Change, May};
use crate::problem::Refusal;
use crate::query::Query;
use crate::write::{NoBody, Write};

macro_rules! bulk {
    ($name:ident, $path:literal, $id:literal, $verb:expr, $summary:literal, $description:literal) => {
        #[utoipa::path(post, path = $path, tag = "notify", operation_id = $id, summary = $summary,
                            description = $description, params(NotificationQuery, AllQuery),
                            responses((status = 200, body = Bulk)), extensions(("x-permission" = json!("change"))))]
        pub(crate) async fn $name(
            State(app): State<App>,
            who: May<Change>,
            Query(query, all): Query<NotificationQuery, AllQuery>,
            write: Write<NoBody>,
        ) -> Result<Json<Bulk>, Refusal> {
            act_on_all(&app, &who, $verb, query, all, write).await
        }
    };
}

bulk!(
    resend,
    "/api/v1/notifications/resend",
    "resend_notifications",
    Move::Resend,
    "Resend every notification that matches.",
    "Without `state` it takes those that failed. `more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);
bulk!(
    discard,
    "/api/v1/notifications/discard",
    "discard_notifications",
    Move::Discard,
    "Discard every notification that matches and is not done.",
    "`more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);
bulk!(
    confirm,
    "/api/v1/notifications/confirm",
    "confirm_notifications",
    Move::Confirm,
    "Confirm every notified notification that matches.",
    "`more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);

async fn act_on_all(
    app: &App,
    who: &Principal,
    verb: Move,
    mut query: NotificationQuery,
    all: AllQuery,
    write: Write<NoBody>,
) -> Result<Json<Bulk>, Refusal> {
    let everything = query == NotificationQuery::default();
    if everything && all.all != Some(true) {
        let name = verb.name();
        let advice = "give a filter, or all=true to mean it";
        return Err(Refusal::invalid(format!("this would {name} every notification: {advice}")));
    }
    if verb == Move::Resend && query.state.is_none() {
        query.state = Some("failed".into());
    }
    let filter = notifications::filter(who, &query)?;
    let object = if everything { "all notifications" } else { "notifications that match" };
    let act = Act {
        group: only(&who.groups),
        detail: serde_json::json!({ "filter": query }),
        ..write.act(who, notifications::action(verb), object)
    };
    let mut below = notifications::mark(&filter, all.cursor.as_deref())?;
    let (mut pace, mut changed) = (Pace::begin(write.is_keyed()), 0);
    while let Some(step) = pace.next_step() {
        let (done, next) = app.notify.act_on_notifications(&filter, below, verb, nth_act(&act, step)).await?;
        changed += done.changed;
        below = next;
        if below.is_none() {
            break;
        }
    }
    let next_cursor = below.map(|mark| notifications::cursor_of(&filter, mark));
    Ok(Json(Bulk { changed, more: next_cursor.is_some(), next_cursor }))
}
