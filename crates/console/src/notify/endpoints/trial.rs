//! A first event to try an endpoint with: it goes the way of every event.

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use malla_notify::{Credentials, Endpoint, IntakeError, NewEvent, Protocol};
use malla_queue::EventId;
use maud::{Markup, html};

use super::super::{EVENTS, endpoint_path};
use super::{detail, options};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts};

const JSON: &str = "application/json";

/// The form as it is at first.
pub(super) fn fields() -> Params {
    Params::from([("body", "{\n  \"hello\": \"world\"\n}"), ("content_type", JSON)])
}

pub(super) fn card(person: &Person, endpoint: &Endpoint, form: &Form<'_>) -> Markup {
    if endpoint.is_system() || endpoint.protocol() != Protocol::Http || !person.may(Permission::Change) {
        return html! {};
    }
    html! {
        section.card #try {
            div.card-head { h2 { (t!("Send a test event")) } }
            (form.head())
            form.fields method="post" action={ (endpoint_path(&endpoint.name)) "/try" } {
                (parts::form_secret(person))
                (form.area(t!("Body"), "body", t!("It is delivered to the subscriptions like any other."), ""))
                (form.text(t!("Content type"), "content_type", "", JSON))
                @if endpoint.options.token_sha256.is_some() {
                    (form.password(t!("Token"), "token", t!("This endpoint asks for one, and only its hash is kept.")))
                }
                div.buttons { button { (t!("Send event")) } }
            }
        }
    }
}

pub(crate) async fn send(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let endpoint = console.notify.endpoint(&visitor.principal.scope(), &name).await?;
    match take(&console, &endpoint, fields).await {
        Ok(event) => {
            let sentence = t!("The event is safe. Below is what becomes of it.");
            Ok(go(&console, &format!("{EVENTS}/{event}"), Notice::good(sentence)))
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let form = Form { typed: fields, wrong: Some(&wrong) };
            let page = detail::page_with_trial(&console, visitor, &name, &form).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).at_rest().into_response())
        }
    }
}

async fn take(console: &Console, endpoint: &Endpoint, fields: &Params) -> Result<EventId, Trouble> {
    let event = NewEvent {
        method: "POST".into(),
        content_type: fields.get("content_type").map(str::to_owned),
        // A browser sends each line break of a text area as two characters.
        body: fields.raw("body").replace("\r\n", "\n").into_bytes(),
        ..NewEvent::default()
    };
    let now = console.now();
    let credentials = credentials(endpoint, fields, &event.body, now.0 / 1_000)?;
    console.intake.take(&endpoint.name, credentials, event, None, now).await.map_err(|error| match error {
        IntakeError::Unknown => Wrong::at("", t!("This endpoint takes no events over HTTP.")).into(),
        IntakeError::TooLarge { .. } => Wrong::at("body", error).into(),
        IntakeError::Unauthorized(why) if endpoint.options.token_sha256.is_some() => Wrong::at("token", why).into(),
        IntakeError::Unavailable(why) => Trouble::from(malla_queue::Error::Unavailable(why)),
        IntakeError::Full(why) => Trouble::Refused(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why)),
        other => Wrong::at("", other).into(),
    })
}

/// Signed with the endpoint's own secret, where that can sign.
fn credentials(endpoint: &Endpoint, fields: &Params, body: &[u8], now_s: i64) -> Result<Credentials, Trouble> {
    let bearer = fields.get("token").map(str::to_owned);
    if endpoint.options.signature_secrets.is_empty() {
        return Ok(Credentials { bearer, ..Credentials::default() });
    }
    let id = format!("test-{now_s}");
    let signature = options::signature(&endpoint.options, &id, now_s, body).map_err(Trouble::Refused)?;
    let only_verifies =
        t!("This endpoint asks for a signature, and its key only verifies: send the event from its publisher.");
    Ok(Credentials {
        bearer,
        webhook_signature: Some(signature.ok_or_else(|| Wrong::at("", only_verifies))?),
        webhook_id: Some(id),
        webhook_timestamp: Some(now_s.to_string()),
    })
}
