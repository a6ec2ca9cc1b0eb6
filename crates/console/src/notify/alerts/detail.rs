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
        .up(ALERTS, t!("Alerts"))
        .still(news)
        .live("state", html! { div.task-head { (badge(&alert)) span { (rich!("fires when {}", rule(&alert))) } } })
        .still(html! { @if person.may(Permission::Change) { div.bulk { (buttons(person, &alert)) } } })
        .live("facts", facts(&alert, group.as_deref(), now))
        .live("notices", latest(&alert, &notices, now));
    if !person.may(Permission::Change) {
        return Ok(page);
    }
    let typed = spec::fields_of(&alert.spec);
    let page = page.still(settings(person, &alert, form.unwrap_or(&Form { typed: &typed, wrong: None })));
    let warning = t!("Nobody is told by it any more. Notices that are on their way still arrive.");
    Ok(page.still(parts::delete_form(person, &format!("{}/delete", alert_path(name)), name, warning)))
}

fn buttons(person: &Person, alert: &Alert) -> Markup {
    let path = alert_path(&alert.name);
    let (value, word) = if alert.spec.enabled { ("off", t!("Switch off")) } else { ("on", t!("Switch on")) };
    html! {
        form method="post" action={ (path) "/test" } { (parts::form_secret(person)) button.primary { (t!("Send a test")) } }
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
                summary.card-head { h2 { (t!("Settings")) } }
                (form.head())
                form.fields method="post" action=(alert_path(&alert.name)) {
                    (parts::form_secret(person))
                    (spec::fields(form, spec::signs(&alert.spec)))
                    div.buttons { button.primary { (t!("Save")) } }
                }
            }
        }
    }
}

fn facts(alert: &Alert, group: Option<&str>, now: UnixMs) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Facts")) } }
            dl.facts {
                dt { (t!("Firing for")) } dd { (firing(alert)) }
                dt { (t!("Last fired")) } dd { (parts::moment(now, alert.last_fired_at)) }
                dt { (t!("Goes to")) }
                dd { @for (n, channel) in alert.spec.to.iter().enumerate() { @if n > 0 { br; } (place(channel)) } }
                dt { (t!("Quiet for")) } dd { (rich!("{} after it fired", words::lasted(alert.spec.quiet()))) }
                dt { (t!("Group")) }
                dd { @match group {
                    Some(group) => (group),
                    None => span.quiet { (t!("none: looks at all subscriptions, seen by admins only")) },
                } }
                dt { (t!("Created")) } dd { (words::time(now, alert.created_at)) }
                dt { (t!("Lane")) } dd { (parts::lane_link(&alert.lane())) }
            }
        }
    }
}

fn latest(alert: &Alert, notices: &[TaskSummary], now: UnixMs) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Latest notices")) } }
            @if notices.is_empty() { p.quiet { (rich!("None yet: send a test to see that {} reaches you.", alert.name)) } }
            @else {
                table.rows { tbody { @for notice in notices { tr {
                    td data-label=(t!("Task")) { (parts::task_link(notice.id)) }
                    td data-label=(t!("State")) { (parts::badge(notice.state)) }
                    td data-label=(t!("Made")) { (words::time(now, notice.id.submitted_at())) }
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
            Ok(go(&console, &alert_path(&name), Notice::good(t!("The alert's settings are saved."))))
        }
        Ok(made) => {
            let news = shown_once(&say!("Alert {name} has a new", name), &made);
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
        other => return Err(Refusal::bad(say!("\"{other}\" is not on or off", other))),
    };
    let principal = &posted.visitor.principal;
    let before = console.alerts.alert(&principal.scope(), &name).await?;
    let spec = AlertSpec { enabled, ..before.spec };
    let act =
        Act { group: before.group, detail: spec::told(&spec), ..Act::new(&principal.actor, "alert.change", &name) };
    console.alerts.change_alert(&principal.scope(), &name, spec, act).await?;
    let sentence = match enabled {
        true => say!("Alert {name} is switched on.", name),
        false => say!("Alert {name} is switched off.", name),
    };
    Ok(go(&console, &alert_path(&name), Notice::good(sentence)))
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
    let sentence = say!("{} on the way. See below whether it arrives.", counted!(sent.len() as u64, "test", "tests"));
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
    Ok(go(&console, ALERTS, Notice::good(say!("Alert {name} is deleted.", name))))
}
