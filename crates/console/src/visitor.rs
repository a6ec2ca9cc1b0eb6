//! Extractors that say in a handler's type what it asks of its visitor: [`Visitor`] to see, [`Posted`] for forms.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
pub(crate) use malla_access::{Administer, Change, Needs, See};
use malla_access::{Permission, Secret};

use crate::caller::{Caller, Notice, Person};
use crate::params::{Params, local_path};
use crate::refusal::Refusal;
use crate::{Console, cookie};

/// How long a notice waits for its page.
const NOTICE_LASTS: std::time::Duration = std::time::Duration::from_secs(60);

/// Somebody who holds the permission `P`.
pub(crate) struct Visitor<P> {
    person: Arc<Person>,
    _needs: PhantomData<P>,
}

impl<P> Deref for Visitor<P> {
    type Target = Person;

    fn deref(&self) -> &Person {
        &self.person
    }
}

impl<P: Needs> FromRequestParts<Console> for Visitor<P> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Console) -> Result<Self, Refusal> {
        let caller = parts.extensions.get::<Arc<Caller>>().ok_or_else(|| Refusal::of_status(StatusCode::NOT_FOUND))?;
        let Some(person) = caller.person.clone() else {
            let here = parts.uri.path_and_query().filter(|_| parts.method.is_safe()).map(|here| here.as_str());
            return Err(Refusal::SignIn { next: here.unwrap_or("/").to_owned() });
        };
        if !person.may(P::PERMISSION) {
            return Err(Refusal::forbidden(why_not(P::PERMISSION)));
        }
        Ok(Self { person, _needs: PhantomData })
    }
}

fn why_not(permission: Permission) -> &'static str {
    match permission {
        Permission::See => t!("You may not see this."),
        Permission::Change => t!("Your role is readonly: ask an admin for the role user to change something."),
        Permission::Administer => t!("This is for admins: ask one of them."),
    }
}

/// A form sent by somebody who holds `P` from one of our own pages.
pub(crate) struct Posted<P> {
    pub(crate) visitor: Visitor<P>,
    pub(crate) fields: Params,
}

impl<P: Needs> FromRequest<Console> for Posted<P> {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, console).await.map_err(Refusal::into_response)?;
        let body = Bytes::from_request(Request::from_parts(parts, body), console).await;
        let fields = Params::parse(&body.map_err(IntoResponse::into_response)?);
        if !same_secret(fields.raw("csrf"), &visitor.csrf) {
            let sentence =
                t!("The form is too old or not from this console: go back, reload the page and send it again.");
            return Err(Refusal::forbidden(sentence).into_response());
        }
        Ok(Self { visitor, fields })
    }
}

/// Compares in constant time: hashes are, and equal hashes are equal texts.
fn same_secret(one: &str, other: &str) -> bool {
    Secret::from_text(one).hash() == Secret::from_text(other).hash()
}

impl<P> Posted<P> {
    /// The page the form was on.
    pub(crate) fn back(&self, otherwise: &str) -> String {
        self.fields.get("back").and_then(local_path).unwrap_or(otherwise).to_owned()
    }
}

/// On to another page, which shows the notice.
pub(crate) fn go(console: &Console, to: &str, notice: Notice) -> Response {
    let cookie = cookie::set(cookie::NOTICE, &notice.pack(), NOTICE_LASTS, console.settings.secure_cookies);
    ([(axum::http::header::SET_COOKIE, cookie)], Redirect::to(to)).into_response()
}
