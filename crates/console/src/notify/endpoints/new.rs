//! A new endpoint.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_notify::{Endpoint, EndpointOptions, NewEndpoint};
use malla_queue::Act;
use maud::{Markup, html};

use super::super::secret::{Made, shown_once};
use super::super::{ENDPOINTS, NEW_ENDPOINT, endpoint_path};
use super::{detail, options};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts};

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Change>) -> Result<Page, Refusal> {
    let typed = options::fields_of(&EndpointOptions::default());
    page(&console, &visitor, &Form { typed: &typed, wrong: None }).await
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("none: seen by admins only")).await?;
    Ok(Page::new(ENDPOINTS, t!("New endpoint")).up(ENDPOINTS, t!("Endpoints")).still(card(person, form, &group)))
}

fn card(person: &Person, form: &Form<'_>, group: &Markup) -> Markup {
    html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW_ENDPOINT) {
                (parts::form_secret(person))
                (form.name("orders"))
                (group)
                (options::fields(form, &EndpointOptions::default()))
                div.buttons { button.primary { (t!("Create endpoint")) } a.button.plain href=(ENDPOINTS) { (t!("Cancel")) } }
            }
        }
    }
}

pub(crate) async fn create(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match add(&console, visitor, fields).await {
        Ok((endpoint, made)) if made.is_empty() => {
            let sentence = say!("Endpoint {} is created. Post a first event to it, or try it below.", endpoint.name);
            Ok(go(&console, &endpoint_path(&endpoint.name), Notice::good(sentence)))
        }
        Ok((endpoint, made)) => {
            let news = shown_once(&say!("Endpoint {} is created. Its", endpoint.name), &made);
            Ok(detail::page_with(&console, visitor, &endpoint.name, news).await?.at_rest().into_response())
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let page = page(&console, visitor, &Form { typed: fields, wrong: Some(&wrong) }).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).at_rest().into_response())
        }
    }
}

async fn add(console: &Console, person: &Person, fields: &Params) -> Result<(Endpoint, Vec<Made>), Trouble> {
    let (options, made) = options::read(fields, EndpointOptions::default())?;
    let group = owner::read(console, person, fields).await?;
    let name = fields.typed("name").to_owned();
    let new = NewEndpoint { name, group, options };
    new.check().map_err(|error| Trouble::Wrong(Wrong::at("name", error)))?;
    let detail = options::told(&new.options);
    let act = Act { group, detail, ..Act::new(&person.principal.actor, "endpoint.create", &new.name) };
    let endpoint = console.notify.create_endpoint(new, act).await.map_err(|error| Trouble::at("name", error))?;
    Ok((endpoint, made))
}
