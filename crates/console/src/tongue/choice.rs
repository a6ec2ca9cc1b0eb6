//! Which language a visitor gets: what they chose, else what their browser asks for, else English.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::Lang;
use crate::params::{Params, local_path};
use crate::visitor::{Posted, See};
use crate::{Console, cookie};

const CHOICE_LASTS: Duration = Duration::from_secs(365 * 24 * 3600);

impl Lang {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let chosen = cookie::read(headers, cookie::LANGUAGE).and_then(Lang::of_code);
        let asked = || headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok().and_then(wanted);
        chosen.or_else(asked).unwrap_or_default()
    }
}

/// Of the languages that a browser asks for, the one it wants most and that is spoken here.
fn wanted(accepted: &str) -> Option<Lang> {
    let mut best: Option<(Lang, f32)> = None;
    for part in accepted.split(',') {
        let (tag, weight) = part.split_once(';').map_or((part, 1.0), |(tag, q)| (tag, weight(q)));
        let primary = tag.trim().split('-').next().unwrap_or_default().to_ascii_lowercase();
        if let Some(lang) = Lang::of_code(&primary)
            && weight > 0.0
            && best.is_none_or(|(_, before)| weight > before)
        {
            best = Some((lang, weight));
        }
    }
    best.map(|(lang, _)| lang)
}

fn weight(parameter: &str) -> f32 {
    parameter.trim().strip_prefix("q=").and_then(|q| q.trim().parse().ok()).unwrap_or(1.0)
}

/// The switch on the page of somebody who is not signed in: a link, for there is no session whose form it could be.
pub(crate) async fn choose_before(State(console): State<Console>, params: Params) -> Response {
    let cookie = Lang::of_code(params.typed("language"))
        .map(|lang| cookie::set(cookie::LANGUAGE, lang.code(), CHOICE_LASTS, console.settings.secure_cookies));
    let next = params.get("next").and_then(local_path).filter(|path| *path != "/").map(str::to_owned);
    let to = next.map_or_else(|| "/login".to_owned(), |next| Params::from([("next", next.as_str())]).link("/login"));
    (cookie.map(|cookie| [(header::SET_COOKIE, cookie)]), Redirect::to(&to)).into_response()
}

/// The switch in the frame.
pub(crate) async fn choose(State(console): State<Console>, posted: Posted<See>) -> Response {
    let secure = console.settings.secure_cookies;
    let cookie = match Lang::of_code(posted.fields.typed("language")) {
        Some(lang) => cookie::set(cookie::LANGUAGE, lang.code(), CHOICE_LASTS, secure),
        None => cookie::clear(cookie::LANGUAGE, secure),
    };
    ([(header::SET_COOKIE, cookie)], Redirect::to(&posted.back("/"))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_gets_the_language_it_wants_most() {
        for (accepted, expected) in [
            ("es", Some(Lang::Spanish)),
            ("es-AR,es;q=0.9,en;q=0.8", Some(Lang::Spanish)),
            ("en-US,en;q=0.9,es;q=0.8", Some(Lang::English)),
            ("de-DE, de;q=0.9, es;q=0.5, en;q=0.4", Some(Lang::Spanish)),
            ("fr, en;q=0.1, es;q=0", Some(Lang::English)),
            ("de, fr", None),
            ("", None),
        ] {
            assert_eq!(wanted(accepted), expected, "{accepted}");
        }
    }

    #[test]
    fn a_choice_counts_more_than_the_browser() {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_LANGUAGE, "es".parse().unwrap());
        assert_eq!(Lang::of(&headers), Lang::Spanish);
        headers.insert(header::COOKIE, "malla_language=en".parse().unwrap());
        assert_eq!(Lang::of(&headers), Lang::English);
        headers.insert(header::COOKIE, "malla_language=xx".parse().unwrap());
        assert_eq!(Lang::of(&headers), Lang::Spanish);
    }
}
