//! Signing in and out.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Extension, FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use malla_access::{Secret, check_name};
use malla_queue::Act;
use maud::{Markup, html};

use crate::caller::Caller;
use crate::frame::Page;
use crate::params::{Params, local_path};
use crate::refusal::Refusal;
use crate::tongue::{Lang, Text};
use crate::visitor::{Posted, See};
use crate::{Console, cookie, icons, parts};

/// The same for a wrong name and a wrong password: a stranger learns nothing from it.
const WRONG: Text = key!("This user name and password do not go together.");

pub(crate) async fn show(Extension(caller): Extension<Arc<Caller>>, params: Params) -> Response {
    let next = next_of(&params);
    if caller.person.as_ref().is_some_and(|person| person.signed_in) {
        return Redirect::to(next).into_response();
    }
    let ended = caller.session_ended.then_some(t!("Your session has ended: sign in again."));
    form(StatusCode::OK, "", next, ended).into_response()
}

/// Where the visitor wanted to go; never back to the login itself, nor to another site.
fn next_of(params: &Params) -> &str {
    params.get("next").and_then(local_path).filter(|path| !path.starts_with("/log")).unwrap_or("/")
}

fn form(status: StatusCode, name: &str, next: &str, error: Option<&str>) -> Page {
    Page::new("", t!("Sign in to Malla")).alone().status(status).still(html! {
        form.card.login method="post" action="/login" {
            p.emblem { (icons::mesh()) }
            (parts::error_line(error))
            input type="hidden" name="next" value=(next);
            (parts::field(t!("User name"), "", None, html! {
                input name="name" value=(name) autocomplete="username" autocapitalize="none" spellcheck="false"
                    maxlength="64" required autofocus[name.is_empty()];
            }))
            (parts::field(t!("Password"), "", None, html! {
                input name="password" type="password" autocomplete="current-password" required
                    autofocus[!name.is_empty()];
            }))
            button.primary { (t!("Sign in")) }
        }
        (languages(next))
    })
}

/// The same page in the other languages.
fn languages(next: &str) -> Markup {
    html! {
        nav.languages aria-label=(t!("Language")) {
            @for lang in Lang::ALL {
                a href=(Params::from([("language", lang.code()), ("next", next)]).link("/login/language")) lang=(lang.code())
                    hreflang=(lang.code()) aria-current=[(lang == Lang::now()).then_some("true")] { (lang.name()) }
            }
        }
    }
}

pub(crate) async fn sign_in(State(console): State<Console>, request: Request) -> Result<Response, Response> {
    let address = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let body = Bytes::from_request(request, &console).await.map_err(IntoResponse::into_response)?;
    let fields = Params::parse(&body);
    let (name, password, next) = (fields.typed("name"), fields.raw("password"), next_of(&fields));

    if let Err(wait) = console.gate.pass(name, address) {
        tracing::warn!(?address, "too many tries to sign in");
        return Ok(too_many(name, next, wait));
    }
    let refused = |error| Refusal::from(error).into_response();
    let stored = console.access.password_hash(name).await.map_err(refused)?;
    if !console.passwords.verify(password, stored.as_deref()).await.map_err(refused)? {
        let detail = serde_json::json!({ "address": address });
        let act = Act { detail, ..Act::new("anonymous", "session.refused", noted_name(name)) };
        console.access.note(act).await.map_err(refused)?;
        return Ok(form(StatusCode::UNAUTHORIZED, name, next, Some(WRONG.get())).into_response());
    }
    open(&console, name, next).await.map_err(refused)
}

/// Somebody may have typed a password in the wrong field: only what can be a name is written down.
fn noted_name(name: &str) -> String {
    check_name("user", name).map_or_else(|_| "(not a name)".to_owned(), |()| name.to_owned())
}

async fn open(console: &Console, name: &str, next: &str) -> malla_queue::Result<Response> {
    let (secret, csrf) = (Secret::random("malla_session_")?, Secret::random("")?);
    let lasts = console.settings.session_lasts;
    console.access.open_session(name, secret.hash(), csrf.reveal(), lasts).await?;
    let cookie = cookie::set(cookie::SESSION, secret.reveal(), lasts, console.settings.secure_cookies);
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to(next)).into_response())
}

fn too_many(name: &str, next: &str, wait: Duration) -> Response {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let sentence = say!("Too many tries: wait {}, then try again.", counted!(seconds, "second", "seconds"));
    let retry = [(header::RETRY_AFTER, HeaderValue::from(seconds))];
    (retry, form(StatusCode::TOO_MANY_REQUESTS, name, next, Some(&sentence))).into_response()
}

pub(crate) async fn sign_out(
    State(console): State<Console>,
    headers: HeaderMap,
    _: Posted<See>,
) -> Result<Response, Refusal> {
    if let Some(secret) = cookie::read(&headers, cookie::SESSION) {
        console.access.close_session(Secret::from_text(secret).hash()).await?;
    }
    let gone = cookie::clear(cookie::SESSION, console.settings.secure_cookies);
    Ok((AppendHeaders([(header::SET_COOKIE, gone)]), Redirect::to("/login")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_on_stays_on_this_site_and_off_the_login() {
        for (next, expected) in [
            ("/tasks?state=failed", "/tasks?state=failed"),
            ("//evil.org", "/"),
            ("https://evil.org", "/"),
            ("/login", "/"),
            ("/logout", "/"),
            ("", "/"),
        ] {
            assert_eq!(next_of(&Params::from([("next", next)])), expected);
        }
    }

    #[test]
    fn what_cannot_be_a_name_is_not_written_down() {
        assert_eq!(noted_name("ana"), "ana");
        assert_eq!(noted_name("my secret pass phrase"), "(not a name)");
    }
}
