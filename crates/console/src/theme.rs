//! Light, dark, or what the system says: a choice kept in a cookie, so that it needs no script.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};

use crate::visitor::{Posted, See};
use crate::{Console, cookie};

const CHOICE_LASTS: Duration = Duration::from_secs(365 * 24 * 3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    pub(crate) const ALL: [Theme; 3] = [Theme::System, Theme::Light, Theme::Dark];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    /// As a person says it.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Theme::System => t!("system"),
            Theme::Light => t!("light"),
            Theme::Dark => t!("dark"),
        }
    }

    /// Any other name is the system's choice.
    pub(crate) fn named(name: &str) -> Self {
        Theme::ALL.into_iter().find(|theme| theme.name() == name).unwrap_or_default()
    }
}

pub(crate) async fn choose(State(console): State<Console>, posted: Posted<See>) -> Response {
    let secure = console.settings.secure_cookies;
    let cookie = match Theme::named(posted.fields.typed("theme")) {
        Theme::System => cookie::clear(cookie::THEME, secure),
        theme => cookie::set(cookie::THEME, theme.name(), CHOICE_LASTS, secure),
    };
    ([(header::SET_COOKIE, cookie)], Redirect::to(&posted.back("/"))).into_response()
}
