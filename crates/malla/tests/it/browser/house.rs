//! A server of a test's own with people who sign in to it.

use serde_json::{Value, json};

use super::driver::Kind;
use super::page::Browser;
use crate::notify::{Desk, NEAR};
use crate::server::{Place, Server};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A server, and a desk that speaks to its API.
pub(crate) struct House {
    pub(crate) place: Place,
    pub(crate) server: Server,
    pub(crate) desk: Desk,
    /// What it said on its first start.
    pub(crate) password: String,
}

impl House {
    pub(crate) fn open() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        let place = Place::new();
        let variables: Vec<_> = NEAR.iter().chain(variables).copied().collect();
        let server = place.start_with(&[], &variables);
        let desk = Desk::at(&server, &place);
        let password = server.said.iter().find_map(|line| line.split_once("with the password "));
        let password = password.map(|(_, password)| password.trim().to_owned()).unwrap_or_default();
        Self { place, server, desk, password }
    }

    /// A browser at the door.
    pub(crate) fn browser(&self, kind: Kind) -> Browser {
        Browser::start(&self.server.url, kind)
    }

    /// The admin's browser.
    pub(crate) fn admin(&self) -> Browser {
        self.admin_with(Kind::USUAL)
    }

    pub(crate) fn admin_with(&self, kind: Kind) -> Browser {
        let browser = self.browser(kind);
        sign_in(&browser, "admin", &self.password);
        browser.sees_heading("Overview");
        browser
    }

    /// Makes somebody with [`PASSWORD`], and the groups that there are not yet.
    pub(crate) fn person(&self, name: &str, role: &str, group: &str) {
        self.desk.call("POST", "/api/v1/groups", Some(&json!({ "name": group })));
        let person = json!({ "name": name, "role": role, "password": PASSWORD, "groups": [group] });
        self.make("users", person);
    }

    /// Makes something over the API.
    #[track_caller]
    pub(crate) fn make(&self, what: &str, thing: Value) -> Value {
        self.desk.ok("POST", &format!("/api/v1/{what}"), Some(thing))
    }

    /// Submits a task; its id.
    #[track_caller]
    pub(crate) fn task(&self, task: Value) -> String {
        let made = self.make("tasks", json!({ "tasks": [task] }));
        made["tasks"][0]["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.place.data().join("admin.token")).expect("a token").trim().to_owned()
    }
}

pub(crate) fn sign_in(browser: &Browser, name: &str, password: &str) {
    browser.open("/login");
    browser.fill("User name", name);
    browser.fill("Password", password);
    browser.press("Sign in");
}
