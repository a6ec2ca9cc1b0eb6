//! A new alert.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_notify::{Alert, NewAlert, check_subject};
use malla_queue::Act;
use maud::{Markup, html};

use super::super::secret::{Made, shown_once};
use super::super::{ALERTS, NEW_ALERT};
use super::{alert_path, detail, spec};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts};

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Change>) -> Result<Page, Refusal> {
    page(&console, &visitor, &Form { typed: &spec::first_fields(), wrong: None }).await
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("none: looks at all subscriptions")).await?;
    Ok(Page::new(ALERTS, t!("New alert")).up(ALERTS, t!("Alerts")).still(card(person, form, &group)))
}

fn card(person: &Person, form: &Form<'_>, group: &Markup) -> Markup {
    html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW_ALERT) {
                (parts::form_secret(person))
                (form.name("failing"))
                (group)
                (spec::fields(form, false))
                div.buttons { button.primary { (t!("Create alert")) } a.button.plain href=(ALERTS) { (t!("Cancel")) } }
            }
        }
    }
}

pub(crate) async fn create(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match add(&console, visitor, fields).await {
        Ok((alert, made)) if made.is_empty() => {
            let sentence = say!("Alert {} is created. Send a test to see that it arrives.", alert.name);
            Ok(go(&console, &alert_path(&alert.name), Notice::good(sentence)))
        }
        Ok((alert, made)) => {
            let news = shown_once(&say!("Alert {} is created. Its", alert.name), &made);
            Ok(detail::page_with(&console, visitor, &alert.name, news, None).await?.at_rest().into_response())
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let page = page(&console, visitor, &Form { typed: fields, wrong: Some(&wrong) }).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).at_rest().into_response())
        }
    }
}

async fn add(console: &Console, person: &Person, fields: &Params) -> Result<(Alert, Vec<Made>), Trouble> {
    let (spec, made) = spec::read(fields, None)?;
    let group = owner::read(console, person, fields).await?;
    let new = NewAlert { name: fields.typed("name").to_owned(), group, spec };
    new.check().map_err(|error| Trouble::Wrong(Wrong::at("name", error)))?;
    let subject = check_subject(&*console.notify, group, &new.spec.rule).await;
    subject.map_err(|error| Trouble::at("subscription", error))?;
    let detail = spec::told(&new.spec);
    let act = Act { group, detail, ..Act::new(&person.principal.actor, "alert.create", &new.name) };
    let created = console.alerts.create_alert(new, act).await;
    Ok((created.map_err(|error| Trouble::at("name", error))?, made))
}
