//! Every page of the console, looked at for what must hold on all of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::axe::Axe;
use super::driver::Kind;
use super::furniture::{HOSTILE, QUICK, furnish};
use super::house::{House, sign_in};
use super::page::Browser;
use super::tour::{Pace, shape_of, tour};

const PHONE_PX: u64 = 360;

/// What an attack would leave behind, and what the policy and the forms must have.
const INSPECT: &str = r#"
    const all = [...document.querySelectorAll("*")];
    const armed = all.filter((one) => [...one.attributes].some((each) => /^on/i.test(each.name) || /^\s*javascript:/i.test(each.value)));
    const strangers = [...document.querySelectorAll("img, x-hostile, iframe, object, embed, base, style, script:not([src^='/']), [style], b")];
    const forms = [...document.querySelectorAll("form")].filter((one) => one.method === "post");
    const bare = forms.filter((one) => !one.querySelector("input[type=hidden][name=csrf]")?.value);
    return {
      armed: armed.map((one) => one.outerHTML.slice(0, 200)),
      strangers: strangers.map((one) => one.outerHTML.slice(0, 200)),
      bare: bare.map((one) => one.getAttribute("action")),
      forms: forms.map((one) => [one.getAttribute("action"), new URLSearchParams(
        [...new FormData(one)].filter(([name, value]) => name !== "csrf" && typeof value === "string")).toString()]),
    };
"#;
const POLICY: &str = r#"
    const done = arguments[arguments.length - 1];
    fetch(location.href, { method: "HEAD" }).then((answer) => done(answer.headers.get("content-security-policy")));
"#;
/// The elements that stick out on the right, and do not scroll by themselves.
const STICKS_OUT: &str = r#"
    const wide = arguments[0];
    const scrolls = (one) => one && (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(one).overflowX) || scrolls(one.parentElement));
    const out = [...document.body.querySelectorAll("*")].filter((one) => one.getBoundingClientRect().right > wide + 1 && !scrolls(one.parentElement));
    return [document.documentElement.scrollWidth, out.slice(0, 5).map((one) => one.outerHTML.slice(0, 160))];
"#;

#[test]
fn hostile_names_are_shown_and_never_run_and_every_form_has_its_token() {
    let house = House::with(QUICK);
    let _neighbours = furnish(&house);
    let browser = house.browser(Kind::USUAL);
    let (mut forms, mut wrong, mut hostile_seen) = (BTreeMap::new(), Vec::new(), 0);
    let mut look = |path: &str| {
        let found = browser.ask(INSPECT);
        for trouble in ["armed", "strangers"] {
            if found[trouble] != json!([]) {
                wrong.push(format!("{path}: {trouble}: {}", found[trouble]));
            }
        }
        // Before anybody is in, there is nothing that a foreign form could do.
        if found["bare"] != json!([]) && found["bare"] != json!(["/login"]) {
            wrong.push(format!("{path}: forms without a token: {}", found["bare"]));
        }
        let policy = browser.driver.run_slowly(POLICY, &[]).expect("an answer");
        let policy = policy.as_str().unwrap_or_default();
        if !policy.contains("default-src 'none'") || policy.contains("unsafe") {
            wrong.push(format!("{path}: the policy is {policy:?}"));
        }
        // A page that does not exist, or a question that is wrong, is itself an error for the browser's log.
        let complaints = browser.driver.complaints().into_iter();
        let complaints = complaints.filter(|one| !one.contains("responded with a status of 4"));
        wrong.extend(complaints.map(|complaint| format!("{path}: {complaint}")));
        hostile_seen += usize::from(browser.text().contains("<x-hostile"));
        for form in found["forms"].as_array().into_iter().flatten() {
            let [action, fields] = [0, 1].map(|n| form[n].as_str().unwrap_or_default().to_owned());
            forms.entry(shape_of(&action)).or_insert((action, fields));
        }
    };
    browser.open(&format!("/login?next={}", "%22%3E%3Cscript%3E"));
    look("/login");
    sign_in(&browser, "admin", &house.password);
    browser.sees_heading("Overview");
    tour(&browser, Pace { things: 2, filters: true }, &mut look);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(hostile_seen > 30, "hostile names were on {hostile_seen} pages only: are they shown at all?");

    browser.open("/");
    forms.remove("/login");
    assert!(forms.len() > 25, "{forms:?}");
    for (action, fields) in forms.values() {
        assert_eq!(browser.forge(action, fields, false), 403, "{action} without its token");
        assert_eq!(browser.forge(action, &format!("{fields}&csrf=guessed"), false), 403, "{action} with a guess");
    }
    browser.open("/lanes?search=%3Cscript%3E");
    browser.sees(&HOSTILE[..60]);
}

#[test]
fn every_page_can_be_used_by_everybody_in_both_colours_and_fits_a_phone() {
    let house = House::with(QUICK);
    let _neighbours = furnish(&house);
    let browser = house.browser(Kind::USUAL);
    let (axe, mut wrong) = (Axe::read(), Vec::new());
    let mut look = |path: &str| {
        if let Some(axe) = &axe {
            wrong.extend(axe.findings(&browser, "").iter().map(|found| format!("{path} (light): {found}")));
            colours(&browser, "dark");
            let dark = axe.findings(&browser, "color-contrast");
            wrong.extend(dark.iter().map(|found| format!("{path} (dark): {found}")));
            colours(&browser, "light");
        }
        wrong.extend(sticks_out(&browser).map(|told| format!("{path} (phone): {told}")));
    };
    browser.open("/login");
    look("/login");
    sign_in(&browser, "admin", &house.password);
    browser.sees_heading("Overview");
    let seen = tour(&browser, Pace { things: 1, filters: false }, &mut look);
    assert!(wrong.is_empty(), "{} pages, and these findings:\n{}", seen.len(), wrong.join("\n"));
}

fn colours(browser: &Browser, wanted: &str) {
    let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": wanted }] });
    browser.driver.tools("Emulation.setEmulatedMedia", &features).expect("other colours");
}

/// What does not fit on a phone, if something does not.
fn sticks_out(browser: &Browser) -> Option<String> {
    let phone = json!({ "width": PHONE_PX, "height": 740, "deviceScaleFactor": 2, "mobile": true });
    browser.driver.tools("Emulation.setDeviceMetricsOverride", &phone).expect("a phone");
    let told: Value = browser.driver.run(STICKS_OUT, &[PHONE_PX.into()]).expect("an answer");
    browser.driver.tools("Emulation.clearDeviceMetricsOverride", &json!({})).expect("no phone");
    let wide = told[0].as_u64().expect("a width");
    (wide > PHONE_PX).then(|| format!("{wide} px wide: {}", told[1]))
}
