//! One alert: its rule, its notices, a test, its switch, its settings, and its end.

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use malla_notify::{Alert, AlertSpec, check_subject, test_notices};
use malla_queue::{Act, TaskFilter, TaskSummary, UnixMs};
use maud::{Markup, html};

use super::super::secret::{Made, shown_once};
use super::super::{ALERTS, LATEST};
use super::{alert_path, badge, firing, place, rule, spec};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, See, Visitor, go};
use crate::{Console, groups, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &name).await
}

pub(crate) async fn page(console: &Console, person: &Person, name: &str) -> Result<Page, Refusal> {
    page_with(console, person, name, html! {}, None).await
}

/// With something to be read first, or with its settings as somebody typed them.
pub(super) async fn page_with(
    console: &Console,
    person: &Person,
    name: &str,
    news: Markup,
    form: Option<&Form<'_>>,
) -> Result<Page, Refusal> {
    let scope = person.principal.scope();
    let alert = console.alerts.alert(&scope, name).await?;
    let filter = TaskFilter { lane: Some(alert.lane()), ..TaskFilter::all(scope) };
    let notices = console.queue.tasks(&filter, None, LATEST).await?.tasks;
    let group = groups::names(console, [alert.group].into_iter()).await?.into_values().next();
    let now = console.now();
    let page = Page::new(ALERTS, alert.name.clone())
        .up(ALERTS, "Alerts")
        .still(news)
        .live("state", html! { div.task-head { (badge(&alert)) span { "fires when " (rule(&alert)) } } })
        .still(html! { @if person.may(Permission::Change) { div.bulk { (buttons(person, &alert)) } } })
        .live("facts", facts(&alert, group.as_deref(), now))
        .live("notices", latest(&alert, &notices, now));
    if !person.may(Permission::Change) {
        return Ok(page);
    }
    let typed = spec::fields_of(&alert.spec);
    let page = page.still(settings(person, &alert, form.unwrap_or(&Form { typed: &typed, wrong: None })));
    let warning = "Nobody is told by it any more. Notices that are on their way still arrive.";
    Ok(page.still(parts::delete_form(person, &format!("{}/delete", alert_path(name)), name, warning)))
}

fn buttons(person: &Person, alert: &Alert) -> Markup {
    let path = alert_path(&alert.name);
    let (value, word) = if alert.spec.enabled { ("off", "Switch off") } else { ("on", "Switch on") };
    html! {
        form method="post" action={ (path) "/test" } { (parts::form_secret(person)) button.primary { "Send a test" } }
        form method="post" action={ (path) "/switch" } {
            (parts::form_secret(person))
            button name="to" value=(value) { (word) }
        }
    }
}

fn settings(person: &Person, alert: &Alert, form: &Form<'_>) -> Markup {
    html! {
        section.card {
            details.settings open[form.wrong.is_some()] {
                summary.card-head { h2 { "Settings" } }
                (form.head())
                form.fields method="post" action=(alert_path(&alert.name)) {
                    (parts::form_secret(person))
                    (spec::fields(form, spec::signs(&alert.spec)))
                    div.buttons { button.primary { "Save" } }
                }
            }
        }
    }
}

fn facts(alert: &Alert, group: Option<&str>, now: UnixMs) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Facts" } }
            dl.facts {
                dt { "Firing for" } dd { (firing(alert)) }
                dt { "Last fired" } dd { (parts::moment(now, alert.last_fired_at)) }
                dt { "Goes to" }
                dd { @for (n, channel) in alert.spec.to.iter().enumerate() { @if n > 0 { br; } (place(channel)) } }
                dt { "Quiet for" } dd { (words::lasted(alert.spec.quiet())) " after it fired" }
                dt { "Group" }
                dd { @match group {
                    Some(group) => (group),
                    None => span.quiet { "none: looks at all subscriptions, seen by admins only" },
                } }
                dt { "Created" } dd { (words::time(now, alert.created_at)) }
                dt { "Lane" } dd { (parts::lane_link(&alert.lane())) }
            }
        }
    }
}

fn latest(alert: &Alert, notices: &[TaskSummary], now: UnixMs) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Latest notices" } }
            @if notices.is_empty() { p.quiet { "None yet: send a test to see that " (alert.name) " reaches you." } }
            @else {
                table.rows { tbody { @for notice in notices { tr {
                    td data-label="Task" { (parts::task_link(notice.id)) }
                    td data-label="State" { (parts::badge(notice.state)) }
                    td data-label="Made" { (words::time(now, notice.id.submitted_at())) }
                } } } }
            }
        }
    }
}

pub(crate) async fn change(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let before = console.alerts.alert(&visitor.principal.scope(), &name).await?;
    match save(&console, visitor, &before, fields).await {
        Ok(made) if made.is_empty() => {
            Ok(go(&console, &alert_path(&name), Notice::good("The alert's settings are saved.")))
        }
        Ok(made) => {
            let news = shown_once(&format!("Alert {name} has a new"), &made);
            Ok(page_with(&console, visitor, &name, news, None).await?.at_rest().into_response())
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let form = Form { typed: fields, wrong: Some(&wrong) };
            let page = page_with(&console, visitor, &name, html! {}, Some(&form)).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).at_rest().into_response())
        }
    }
}

async fn save(console: &Console, person: &Person, before: &Alert, fields: &Params) -> Result<Vec<Made>, Trouble> {
    let (spec, made) = spec::read(fields, Some(&before.spec))?;
    let subject = check_subject(&*console.notify, before.group, &spec.rule).await;
    subject.map_err(|error| Trouble::at("subscription", error))?;
    let act = Act {
        group: before.group,
        detail: spec::told(&spec),
        ..Act::new(&person.principal.actor, "alert.change", &before.name)
    };
    console.alerts.change_alert(&person.principal.scope(), &before.name, spec, act).await?;
    Ok(made)
}

pub(crate) async fn switch(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let enabled = match posted.fields.typed("to") {
        "on" => true,
        "off" => false,
        other => return Err(Refusal::bad(format!("\"{other}\" is not on or off"))),
    };
    let principal = &posted.visitor.principal;
    let before = console.alerts.alert(&principal.scope(), &name).await?;
    let spec = AlertSpec { enabled, ..before.spec };
    let act =
        Act { group: before.group, detail: spec::told(&spec), ..Act::new(&principal.actor, "alert.change", &name) };
    console.alerts.change_alert(&principal.scope(), &name, spec, act).await?;
    let word = if enabled { "on" } else { "off" };
    Ok(go(&console, &alert_path(&name), Notice::good(format!("Alert {name} is switched {word}."))))
}

pub(crate) async fn test(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let principal = &posted.visitor.principal;
    let alert = console.alerts.alert(&principal.scope(), &name).await?;
    let act = Act { group: alert.group, ..Act::new(&principal.actor, "alert.test", &name) };
    let sent = console.queue.submit(test_notices(&alert, console.now())?, Some(act)).await?;
    let sentence = format!("{} on the way. See below whether it arrives.", words::counted(sent.len() as u64, "test"));
    Ok(go(&console, &alert_path(&name), Notice::good(sentence)))
}

pub(crate) async fn delete(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let principal = &posted.visitor.principal;
    let act = Act::new(&principal.actor, "alert.delete", &name);
    console.alerts.delete_alert(&principal.scope(), &name, act).await?;
    Ok(go(&console, ALERTS, Notice::good(format!("Alert {name} is deleted."))))
}
