//! A new drill: a task that does nothing but behave as told, to try an installation.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_queue::drill::{Drill, KIND, ROOM};
use malla_queue::{Act, Error, Kind, LaneKey, Limits, NewTask, Priority, Scope, TaskId};
use maud::{Markup, html};

use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts};

pub(crate) const NEW: &str = "/tasks/new";
const PRIORITIES: [(&str, Text); 3] = [("normal", key!("normal")), ("high", key!("high")), ("low", key!("low"))];

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Change>) -> Result<Page, Refusal> {
    let typed = Params::from([("lane", "drill/hello"), ("payload", "{}")]);
    page(&console, &visitor, &Form { typed: &typed, wrong: None }).await
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("none: seen by admins only")).await?;
    Ok(Page::new("/tasks", t!("New drill"))
        .up("/tasks", t!("Tasks"))
        .lead(html! { (t!("A task that does nothing but behave as told: it shows how lanes, attempts and people's verbs work.")) })
        .still(card(person, form, &group)))
}

fn card(person: &Person, form: &Form<'_>, group: &Markup) -> Markup {
    let hint = t!(
        "What it does: {\"work_ms\": 500} works half a second, {\"fail\": 2} fails twice. Empty: it succeeds at once."
    );
    html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW) {
                (parts::form_secret(person))
                (form.text(t!("Lane"), "lane", t!("Lanes of drills begin with drill/."), "drill/hello"))
                (form.choice(t!("Priority"), "priority", "", &PRIORITIES))
                (group)
                (form.area(t!("Payload"), "payload", hint, "{}"))
                div.buttons { button.primary { (t!("Submit")) } a.button.plain href="/tasks" { (t!("Cancel")) } }
            }
        }
    }
}

pub(crate) async fn submit(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match add(&console, visitor, fields).await {
        Ok(id) => Ok(go(&console, &parts::task_path(id), Notice::good(say!("Task {id} is submitted.", id)))),
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let page = page(&console, visitor, &Form { typed: fields, wrong: Some(&wrong) }).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

async fn add(console: &Console, person: &Person, fields: &Params) -> Result<TaskId, Trouble> {
    let lane: LaneKey = fields.typed("lane").parse().map_err(|error: Error| Wrong::at("lane", error))?;
    if lane.room() != ROOM {
        return Err(Wrong::at("lane", t!("Lanes of drills begin with drill/.")).into());
    }
    let payload = fields.get("payload").unwrap_or("{}");
    Drill::parse(payload.as_bytes()).map_err(|error| Wrong::at("payload", error))?;
    let priority = fields.get("priority").map_or(Ok(Priority::Normal), str::parse);
    let group = owner::read(console, person, fields).await?;
    check_lane(console, person, &lane).await?;
    let task = NewTask {
        group,
        lane_group: group,
        priority: priority.map_err(|error: Error| Wrong::at("priority", error))?,
        ..NewTask::new(lane.clone(), Kind::new(KIND), payload)
    };
    task.check(&Limits::default()).map_err(|error| Wrong::at("payload", error))?;
    let act = Act { group, ..Act::new(&person.principal.actor, "task.submit", lane.to_string()) };
    let submitted = console.queue.submit(vec![task], Some(act)).await?;
    let first = submitted.first().map(|submitted| submitted.id);
    first.ok_or_else(|| Error::Internal("a submission has no task".into()).into())
}

/// A lane that another group made is not for this person.
async fn check_lane(console: &Console, person: &Person, key: &LaneKey) -> Result<(), Trouble> {
    match console.queue.lane(&Scope::All, key).await {
        Ok(lane) if !person.principal.scope().sees(lane.group) => {
            Err(Wrong::at("lane", say!("The lane {} belongs to another group.", key)).into())
        }
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
