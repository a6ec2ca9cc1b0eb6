//! Who sent a request: a person with a session, somebody anonymous with a role, or a stranger.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use malla_access::{Permission, Principal, Secret};
use malla_queue::Result;

use crate::params::local_path;
use crate::theme::Theme;
use crate::{Console, cookie};

/// Somebody who may see pages, and the page they are at.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) principal: Principal,
    /// As the header shows it.
    pub(crate) name: String,
    /// What each of their forms carries.
    pub(crate) csrf: String,
    pub(crate) signed_in: bool,
    /// Path and query of the page: forms come back to it.
    pub(crate) here: String,
    /// `http://host`, for lines to copy.
    pub(crate) server: String,
}

impl Person {
    pub(crate) fn may(&self, permission: Permission) -> bool {
        self.principal.may(permission)
    }

    /// Looks the session up anew; `None` if there is none and nobody anonymous is welcome.
    pub(crate) async fn find(
        console: &Console,
        session: Option<&str>,
        here: &str,
        server: &str,
    ) -> Result<Option<Self>> {
        let (here, server) = (here.to_owned(), server.to_owned());
        if let Some(secret) = session
            && let Some(session) = console.access.session(Secret::from_text(secret).hash()).await?
        {
            let (name, csrf) = (session.user.name, session.csrf);
            return Ok(Some(Self { principal: session.principal, name, csrf, signed_in: true, here, server }));
        }
        Ok(console.settings.anonymous_role.map(|role| Self {
            principal: Principal { actor: "anonymous".into(), role, groups: Vec::new() },
            name: "anonymous".into(),
            csrf: console.anonymous_csrf.clone(),
            signed_in: false,
            here,
            server,
        }))
    }
}

/// What every page needs to know of its request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    pub(crate) person: Option<Arc<Person>>,
    /// It came with a session that is no more.
    pub(crate) session_ended: bool,
    pub(crate) theme: Theme,
    pub(crate) notice: Option<Notice>,
}

impl Caller {
    /// The caller without its person: all that can be known when the store does not answer.
    pub(crate) fn stranger(request: &Parts) -> Self {
        let headers = &request.headers;
        Self {
            person: None,
            session_ended: false,
            theme: Theme::named(cookie::read(headers, cookie::THEME).unwrap_or_default()),
            notice: cookie::read(headers, cookie::NOTICE).and_then(Notice::unpack),
        }
    }

    pub(crate) async fn of(console: &Console, request: &Parts) -> Result<Self> {
        let session = cookie::read(&request.headers, cookie::SESSION).filter(|secret| !secret.is_empty());
        let here = match (&request.method, request.uri.path_and_query()) {
            (&Method::GET, Some(here)) => local_path(here.as_str()).unwrap_or("/"),
            _ => "/",
        };
        let person = Person::find(console, session, here, &server(console, request)).await?;
        let session_ended = session.is_some() && !person.as_ref().is_some_and(|person| person.signed_in);
        Ok(Self { person: person.map(Arc::new), session_ended, ..Self::stranger(request) })
    }
}

/// Where this server is reached, as the browser calls it.
fn server(console: &Console, request: &Parts) -> String {
    let scheme = if console.settings.secure_cookies { "https" } else { "http" };
    let plain = |host: &&str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b".:[]-_".contains(&b));
    format!("{scheme}://{}", host(request).filter(plain).unwrap_or("localhost"))
}

fn host(request: &Parts) -> Option<&str> {
    let header = request.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    header.or_else(|| request.uri.authority().map(|authority| authority.as_str()))
}

/// Whether a form was sent from another site. The browser's own word counts where it gives it; programs give none,
/// and the form's token is checked in any case.
pub(crate) fn from_elsewhere(request: &Parts) -> bool {
    let text = |name: &str| header_text(&request.headers, name);
    if let Some(site) = text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text("origin") else { return false };
    let there = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    !there.is_some_and(|there| host(request).is_some_and(|here| here.eq_ignore_ascii_case(there)))
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"))
}

/// A sentence about what a form did, shown on the page after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) good: bool,
    pub(crate) text: String,
}

impl Notice {
    pub(crate) fn good(text: impl Into<String>) -> Self {
        Self { good: true, text: text.into() }
    }

    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self { good: false, text: text.into() }
    }

    pub(crate) fn pack(&self) -> String {
        let sign = if self.good { '+' } else { '-' };
        let text: String = self.text.chars().take(500).collect();
        cookie::pack(&format!("{sign}{text}"))
    }

    fn unpack(value: &str) -> Option<Self> {
        let text = cookie::unpack(value)?;
        let good = text.starts_with('+');
        Some(Self { good, text: text.get(1..)?.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_other_sites_are_told_apart() {
        check(&[], false);
        check(&[("origin", "http://malla.local:7070")], false);
        check(&[("origin", "https://MALLA.local:7070")], false);
        check(&[("origin", "http://malla.local:7071")], true);
        check(&[("origin", "http://malla.local:7070.evil.org")], true);
        check(&[("origin", "null")], true);
        check(&[("sec-fetch-site", "same-origin"), ("origin", "https://proxy.example")], false);
        check(&[("sec-fetch-site", "none")], false);
        check(&[("sec-fetch-site", "cross-site"), ("origin", "http://malla.local:7070")], true);
        check(&[("sec-fetch-site", "same-site")], true);
    }

    fn check(headers: &[(&str, &str)], expected: bool) {
        let mut request = axum::http::Request::post("/tasks/act").header("host", "malla.local:7070");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (request, ()) = request.body(()).expect("a request").into_parts();
        assert_eq!(from_elsewhere(&request), expected, "{headers:?}");
    }

    #[test]
    fn a_notice_survives_its_cookie() {
        for notice in [Notice::good("Discarded 3 tasks."), Notice::bad("– no; not \"this\" +")] {
            assert_eq!(Notice::unpack(&notice.pack()), Some(notice));
        }
        assert_eq!(Notice::unpack(""), None);
    }
}
