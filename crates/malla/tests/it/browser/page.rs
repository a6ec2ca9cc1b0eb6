//! A page as a person uses it: things are found by the words on them, and waited for.

use std::time::Instant;

use serde_json::{Value, json};

use super::driver::{Driver, Element, Kind, Trouble};
use crate::server::{DEADLINE, poll_until};

const EYES: &str = include_str!("eyes.js");
/// The innermost thing with these words, then the row, item or card that it is in.
const AROUND: &str = r#"
    const words = (text) => (text || "").replace(/\s+/g, " ").toLowerCase();
    const rows = [...document.querySelectorAll("tr, li, section.card")].filter((one) => one.checkVisibility());
    const holding = rows.filter((one) => words(one.innerText).includes(words(arguments[0])));
    return holding.find((one) => !holding.some((other) => other !== one && one.contains(other))) || null;
"#;

/// A browser and the site it is for. What it shows is kept if the test fails.
pub(crate) struct Browser {
    pub(crate) driver: Driver,
    site: String,
}

impl Browser {
    pub(crate) fn start(site: &str, kind: Kind) -> Self {
        Self { driver: Driver::start(kind), site: site.to_owned() }
    }

    /// Types an address.
    #[track_caller]
    pub(crate) fn open(&self, path: &str) {
        let went = self.driver.post("/url", &json!({ "url": format!("{}{path}", self.site) }));
        went.unwrap_or_else(|trouble| panic!("{path} is not opened: {trouble}"));
    }

    pub(crate) fn reload(&self) {
        self.driver.post("/refresh", &json!({})).expect("reloaded");
    }

    /// Path and query of the page.
    pub(crate) fn here(&self) -> String {
        let url = self.driver.get("/url").expect("an address");
        url.as_str().expect("text").trim_start_matches(&self.site).to_owned()
    }

    /// Everything that can be read on the page.
    pub(crate) fn text(&self) -> String {
        let text = self.driver.run("return document.body.innerText", &[]).unwrap_or_default();
        text.as_str().unwrap_or_default().to_owned()
    }

    fn shows(&self, words: &str) -> bool {
        plain(&self.text()).contains(&plain(words))
    }

    /// Waits until these words are on the page.
    #[track_caller]
    pub(crate) fn sees(&self, words: &str) {
        let seen = poll_until(Instant::now() + DEADLINE, || self.shows(words).then_some(()));
        assert!(seen.is_some(), "{words:?} is not seen at {} but: {}", self.here(), self.text());
    }

    /// The same, all of them.
    #[track_caller]
    pub(crate) fn sees_all(&self, words: &[&str]) {
        words.iter().for_each(|words| self.sees(words));
    }

    /// Waits until these words are not on the page.
    #[track_caller]
    pub(crate) fn sees_no_more(&self, words: &str) {
        let gone = poll_until(Instant::now() + DEADLINE, || (!self.shows(words)).then_some(()));
        assert!(gone.is_some(), "{words:?} is still seen at {}: {}", self.here(), self.text());
    }

    /// The page that is there now does not have these words.
    #[track_caller]
    pub(crate) fn does_not_see(&self, words: &str) {
        assert!(!self.shows(words), "{words:?} is seen at {}: {}", self.here(), self.text());
    }

    #[track_caller]
    pub(crate) fn sees_heading(&self, words: &str) {
        let seen = poll_until(Instant::now() + DEADLINE, || self.find("heading", words, None).ok()?.pop());
        assert!(seen.is_some(), "no heading {words:?} at {}: {}", self.here(), self.text());
    }

    /// Whether there is a button or link with this name now.
    pub(crate) fn has_button(&self, name: &str) -> bool {
        self.find("button", name, None).is_ok_and(|found| !found.is_empty())
    }

    /// Presses the button or link with this name.
    #[track_caller]
    pub(crate) fn press(&self, name: &str) {
        self.insist(&format!("press {name:?}"), || self.driver.click(&self.one("button", name, None)?));
    }

    /// The same, in the row or card that has these words.
    #[track_caller]
    pub(crate) fn press_beside(&self, words: &str, name: &str) {
        self.insist(&format!("press {name:?} beside {words:?}"), || {
            let around = self.driver.run(AROUND, &[words.into()])?;
            let around = Element::read(&around).ok_or_else(|| Trouble::nothing(words))?;
            self.driver.click(&self.one("button", name, Some(&around))?)
        });
    }

    /// Writes into the field with this label.
    #[track_caller]
    pub(crate) fn fill(&self, label: &str, text: &str) {
        self.insist(&format!("fill {label:?}"), || {
            let field = self.one("field", label, None)?;
            self.driver.clear(&field)?;
            self.driver.write(&field, text)
        });
    }

    /// A value that a script finds in the page.
    #[track_caller]
    pub(crate) fn ask(&self, body: &str) -> Value {
        self.driver.run(body, &[]).unwrap_or_else(|trouble| panic!("{body}: {trouble}"))
    }

    /// Waits until a script finds this value in the page, which may be on its way.
    #[track_caller]
    pub(crate) fn finds(&self, body: &str, value: &str) {
        let found = poll_until(Instant::now() + DEADLINE, || self.driver.run(body, &[]).ok().filter(|is| is == value));
        assert!(found.is_some(), "{body} does not find {value:?} at {}", self.here());
    }

    /// Leaves a mark on the page that is there now.
    pub(crate) fn remember(&self) {
        self.ask("window.remembered = true");
    }

    /// Whether the page with the mark is still there: it was not loaded again.
    pub(crate) fn remembers(&self) -> bool {
        self.ask("return window.remembered === true") == true
    }

    /// Sends a form that no page has, from this page, with or without its token; the status of the answer.
    #[track_caller]
    pub(crate) fn forge(&self, path: &str, fields: &str, token: bool) -> u64 {
        let send = r#"
            const [path, fields, token, done] = arguments;
            const body = new URLSearchParams(fields);
            if (token) body.set("csrf", document.querySelector("input[name=csrf]").value);
            fetch(path, { method: "POST", body, redirect: "manual" })
              .then((answer) => done(answer.type === "opaqueredirect" ? 303 : answer.status));
        "#;
        let status = self.driver.run_slowly(send, &[path.into(), fields.into(), token.into()]);
        status.ok().and_then(|status| status.as_u64()).unwrap_or_else(|| panic!("{path} gave no answer"))
    }

    /// A cookie of the site.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let cookie = self.driver.get(&format!("/cookie/{name}")).ok()?;
        cookie["value"].as_str().map(str::to_owned)
    }

    fn find(&self, kind: &str, words: &str, within: Option<&Element>) -> Result<Vec<Element>, Trouble> {
        let within = within.map_or(Value::Null, Element::argument);
        let found = self.driver.run(EYES, &[kind.into(), words.into(), within])?;
        Ok(found.as_array().into_iter().flatten().filter_map(Element::read).collect())
    }

    fn one(&self, kind: &str, words: &str, within: Option<&Element>) -> Result<Element, Trouble> {
        self.find(kind, words, within)?.into_iter().next().ok_or_else(|| Trouble::nothing(words))
    }

    /// Tries again while the page changes under one's hands.
    #[track_caller]
    fn insist(&self, what: &str, mut attempt: impl FnMut() -> Result<(), Trouble>) {
        let mut last = None;
        let done = poll_until(Instant::now() + DEADLINE, || attempt().map_err(|trouble| last = Some(trouble)).ok());
        let why = last.map_or_else(String::new, |trouble| trouble.to_string());
        assert!(done.is_some(), "cannot {what} at {}: {why}: {}", self.here(), self.text());
    }
}

/// Without regard to case and space, which are a matter of style.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

impl Drop for Browser {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let test = std::thread::current().name().unwrap_or("a test").replace("::", "-");
            for path in self.driver.evidence(&test) {
                eprintln!("what the browser showed: {}", path.display());
            }
        }
    }
}
