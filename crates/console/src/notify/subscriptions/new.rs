//! A new subscription.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_notify::{NewSubscription, Subscription, SubscriptionState};
use malla_queue::{Act, Error};
use maud::{Markup, html};

use super::super::secret::{Made, shown_once};
use super::super::{EXAMPLE, NEW_SUBSCRIPTION, SUBSCRIPTIONS, subscription_path};
use super::{detail, fields, spec};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts};

const STATES: [(&str, Text); 2] =
    [("active", key!("active: deliver at once")), ("suspended", key!("suspended: hold them for now"))];
/// Endpoints offered for completion.
const OFFERED: usize = 200;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let typed = spec::fields_of(&spec::blank()).without("target").with("endpoint", params.typed("endpoint"));
    page(&console, &visitor, &Form { typed: &typed, wrong: None }).await
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("the endpoint's")).await?;
    let endpoints = console.notify.endpoints(&person.principal.scope(), None, OFFERED).await?;
    let names: Vec<&str> = endpoints.iter().map(|endpoint| endpoint.name.as_str()).collect();
    Ok(Page::new(SUBSCRIPTIONS, t!("New subscription"))
        .up(SUBSCRIPTIONS, t!("Subscriptions"))
        .lead(html! { (t!("From now on it gets the events of its endpoint; earlier ones are not sent.")) })
        .still(card(person, form, &names, &group)))
}

fn card(person: &Person, form: &Form<'_>, endpoints: &[&str], group: &Markup) -> Markup {
    let endpoint = html! {
        input name="endpoint" list="endpoints" value=(form.typed.typed("endpoint")) placeholder=(EXAMPLE)
            autocapitalize="none" spellcheck="false" autocomplete="off" required;
        datalist #endpoints { @for name in endpoints { option value=(name) {} } }
    };
    html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW_SUBSCRIPTION) {
                (parts::form_secret(person))
                (form.name("shop"))
                (parts::field(t!("Endpoint"), t!("Whose events it gets."), form.error("endpoint"), endpoint))
                (fields::target(form))
                (form.choice(t!("State"), "state", "", &STATES))
                (group)
                (fields::rest(form, &spec::blank()))
                div.buttons {
                    button.primary { (t!("Create subscription")) } a.button.plain href=(SUBSCRIPTIONS) { (t!("Cancel")) }
                }
            }
        }
    }
}

pub(crate) async fn create(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match add(&console, visitor, fields).await {
        Ok((subscription, made)) if made.is_empty() => {
            let sentence = say!("Subscription {} is created.", subscription.name);
            Ok(go(&console, &subscription_path(&subscription.name), Notice::good(sentence)))
        }
        Ok((subscription, made)) => {
            let news = shown_once(&say!("Subscription {} is created. Its", subscription.name), &made);
            Ok(detail::page_with(&console, visitor, &subscription.name, news).await?.at_rest().into_response())
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let page = page(&console, visitor, &Form { typed: fields, wrong: Some(&wrong) }).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

async fn add(console: &Console, person: &Person, fields: &Params) -> Result<(Subscription, Vec<Made>), Trouble> {
    let (spec, made) = spec::read(fields, spec::blank(), console.now())?;
    let scope = person.principal.scope();
    let endpoint = match console.notify.endpoint(&scope, fields.typed("endpoint")).await {
        Ok(endpoint) => endpoint,
        Err(Error::NotFound(_)) => {
            let sentence = say!("There is no endpoint \"{}\" for you.", fields.typed("endpoint"));
            return Err(Wrong::at("endpoint", sentence).into());
        }
        Err(error) => return Err(error.into()),
    };
    // So that the endpoint's people see what becomes of their events.
    let group = owner::read(console, person, fields).await?.or(endpoint.group);
    let state = match fields.typed("state") {
        "suspended" => SubscriptionState::Suspended,
        _ => SubscriptionState::Active,
    };
    let new = NewSubscription { name: fields.typed("name").into(), endpoint: endpoint.name, group, state, spec };
    new.check().map_err(|error| Wrong::at("name", error))?;
    let mut detail = spec::told(&new.spec);
    detail["endpoint"] = new.endpoint.as_str().into();
    detail["state"] = state.name().into();
    let act = Act { group, detail, ..Act::new(&person.principal.actor, "subscription.create", &new.name) };
    let created = console.notify.create_subscription(&scope, new, act).await;
    Ok((created.map_err(|error| Trouble::at("name", error))?, made))
}
