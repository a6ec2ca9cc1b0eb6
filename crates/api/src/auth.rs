//! Who calls and whether they may: a handler states the permission it needs in its type, as [`May<Change>`].
//! Nothing is remembered between requests, so a deleted token or an ended session stops at once.

use std::marker::PhantomData;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
pub(crate) use malla_access::{Administer, Change, See};
use malla_access::{Needs, Permission, Principal, Role, Secret, Session};
use malla_protocol::{CSRF_HEADER, Code, SESSION_COOKIE};

use crate::App;
use crate::problem::Refusal;

const CHALLENGE: &str = "Bearer realm=\"malla\"";
const CHALLENGE_WRONG_TOKEN: &str = "Bearer realm=\"malla\", error=\"invalid_token\"";

/// A caller who has the permission `P`.
pub(crate) struct May<P: Needs>(Principal, PhantomData<P>);

impl<P: Needs> Deref for May<P> {
    type Target = Principal;

    fn deref(&self) -> &Principal {
        &self.0
    }
}

impl<P: Needs> FromRequestParts<App> for May<P> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let principal = identify(app, &parts.headers, &parts.method).await?;
        permit(&principal, P::PERMISSION)?;
        Ok(Self(principal, PhantomData))
    }
}

pub(crate) fn permit(principal: &Principal, permission: Permission) -> Result<(), Refusal> {
    if principal.may(permission) {
        return Ok(());
    }
    let (role, needed) = (principal.role, smallest_role(permission));
    Err(Refusal::new(Code::Forbidden, format!("the role {role} may not do this: it takes the role {needed}")))
}

fn smallest_role(permission: Permission) -> Role {
    Role::ALL.into_iter().find(|role| role.may(permission)).unwrap_or(Role::Admin)
}

/// Who sends these headers: a bearer token counts first, then the console's session, then the anonymous role.
pub(crate) async fn identify(app: &App, headers: &HeaderMap, method: &Method) -> Result<Principal, Refusal> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let token = value.to_str().ok().and_then(bearer).ok_or_else(|| {
            Refusal::unauthorized("the Authorization header must read: Bearer <token>", CHALLENGE_WRONG_TOKEN)
        })?;
        let principal = app.access.principal_of_token(Secret::from_text(token).hash()).await?;
        return principal.ok_or_else(|| {
            Refusal::unauthorized("this token is wrong, expired or deleted: ask for a new one", CHALLENGE_WRONG_TOKEN)
        });
    }
    let cookie = session_cookie(headers);
    if let Some(secret) = cookie
        && let Some(session) = app.access.session(Secret::from_text(secret).hash()).await?
    {
        check_csrf(&session, headers, method)?;
        return Ok(session.principal);
    }
    match (app.settings.anonymous_role, cookie) {
        (Some(role), _) => Ok(Principal { actor: "anonymous".into(), role, groups: Vec::new() }),
        (None, Some(_)) => Err(Refusal::unauthorized("this session has ended: log in again", CHALLENGE)),
        (None, None) => {
            Err(Refusal::unauthorized("this needs a token: send it as Authorization: Bearer <token>", CHALLENGE))
        }
    }
}

/// The token in the value of an Authorization header.
pub(crate) fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == SESSION_COOKIE && !value.is_empty()).then_some(value))
}

/// A browser sends the cookie with requests that other sites make it send; the header they cannot forge.
fn check_csrf(session: &Session, headers: &HeaderMap, method: &Method) -> Result<(), Refusal> {
    if method.is_safe() {
        return Ok(());
    }
    let given = headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // Hashes compare in constant time.
    if Secret::from_text(given).hash() == Secret::from_text(session.csrf.as_str()).hash() {
        return Ok(());
    }
    Err(Refusal::new(Code::Csrf, format!("a session's request that changes something must carry its {CSRF_HEADER}")))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_bearer_token_is_found_whatever_the_case_of_its_scheme() {
        assert_eq!(bearer("Bearer malla_x"), Some("malla_x"));
        assert_eq!(bearer("bearer  malla_x "), Some("malla_x"));
        for wrong in ["Bearer", "Bearer ", "Basic YTpi", "malla_x", ""] {
            assert_eq!(bearer(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_session_is_found_among_other_cookies() {
        check("malla_session=abc", Some("abc"));
        check("theme=dark; malla_session=abc; x=y", Some("abc"));
        check("other_malla_session=abc", None);
        check("malla_session=", None);
    }

    fn check(cookie: &str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_str(cookie).unwrap());
        assert_eq!(session_cookie(&headers), expected, "{cookie}");
    }
}
