//! A walk through every page that can be reached: pages are found by the links on them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::furniture::HOSTILE;
use super::page::Browser;

/// Pages that a tour must come by: a door that is not on it would stay unseen.
const MUST_SEE: &[&str] = &[
    "/",
    "/tasks",
    "/tasks/{}",
    "/tasks/act",
    "/lanes",
    "/lane",
    "/notify/notifications",
    "/notify/notifications/{}",
    "/notify/notifications/act",
    "/notify/events",
    "/notify/events/{}",
    "/notify/subscriptions",
    "/notify/subscriptions/{}",
    "/notify/new-subscription",
    "/notify/endpoints",
    "/notify/endpoints/{}",
    "/notify/new-endpoint",
    "/notify/statistics",
    "/notify/alerts",
    "/notify/alerts/{}",
    "/notify/new-alert",
    "/fetch/jobs",
    "/fetch/jobs/{}",
    "/fetch/jobs/{}/results/{}",
    "/fetch/new-job",
    "/fetch/crawls",
    "/fetch/crawls/{}",
    "/fetch/crawls/{}/results/{}",
    "/fetch/crawls/act",
    "/fetch/new-crawl",
    "/fetch/watches",
    "/fetch/watches/{}",
    "/fetch/watches/{}/versions/{}",
    "/fetch/watches/{}/compare",
    "/fetch/new-watch",
    "/fetch/comparisons",
    "/fetch/comparisons/{}",
    "/fetch/new-comparison",
    "/fetch/sites",
    "/fetch/site",
    "/fetch/devices",
    "/wiki",
    "/wiki/articles",
    "/wiki/revisions",
    "/wiki/query",
    "/wiki/extractions",
    "/wiki/imports",
    "/wiki/wikis/{}",
    "/wiki/wikis/{}/pages/{}",
    "/wiki/wikis/{}/revisions/{}",
    "/wiki/wikis/{}/compare",
    "/analyses",
    "/analyses/{}",
    "/audit",
    "/cluster",
    "/users",
    "/users/{}",
    "/groups",
    "/groups/{}",
    "/tokens",
    "/nowhere",
];

/// More pages than there are: a tour that goes on and on is broken.
const PAGES_MAX: usize = 400;

/// Links of the page; and forms that ask, filled in by somebody who means harm.
const DOORS: &str = r#"
    const hostile = arguments[0];
    const links = [...document.querySelectorAll("a[href]:not([download])")].map((one) => one.href);
    const asking = [...document.querySelectorAll("form")].filter((one) => one.method === "get").map((one) => {
      const given = (field) => field.tagName === "SELECT" || ["hidden", "radio", "checkbox"].includes(field.type);
      const sent = [...one.elements].filter((field) => field.name && (field.checked || !["radio", "checkbox"].includes(field.type)));
      const query = new URLSearchParams(sent.map((field) => [field.name, given(field) ? field.value : hostile]));
      return new URL(one.getAttribute("action") || "", location) + "?" + query;
    });
    return [...links, ...asking].filter((href) => href.startsWith(location.origin + "/"))
      .map((href) => href.slice(location.origin.length).split('#')[0]);
"#;

/// How often pages of one shape are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Different things at one path.
    pub(super) things: usize,
    /// Whether a list counts anew with each combination of filters.
    pub(super) filters: bool,
}

/// Goes to every page and looks at it there; the paths seen, without the names of things.
pub(super) fn tour(browser: &Browser, pace: Pace, mut look: impl FnMut(&str)) -> BTreeSet<String> {
    let mut waiting: VecDeque<String> = ["/", "/nowhere"].map(str::to_owned).into();
    let (mut known, mut seen) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    let mut shapes = BTreeSet::new();
    while let Some(path) = waiting.pop_front() {
        let shape = shape(&path);
        let counted = if pace.filters { shape.clone() } else { bare(&shape).to_owned() };
        let times = seen.entry(counted).or_default();
        if *times >= pace.things {
            continue;
        }
        *times += 1;
        browser.open(&path);
        // Where a redirect led counts as seen too.
        let here = browser.here();
        shapes.insert(bare(&shape).to_owned());
        look(&path);
        if here != path && known.insert(here.clone()) {
            waiting.push_back(here);
        }
        let doors = browser.driver.run(DOORS, &[HOSTILE.into()]).expect("links");
        let doors = doors.as_array().into_iter().flatten().filter_map(Value::as_str);
        waiting.extend(doors.filter(|door| is_page(door) && known.insert((*door).to_owned())).map(str::to_owned));
        assert!(known.len() < PAGES_MAX * 20 && shapes.len() < PAGES_MAX, "a tour without end: {shapes:?}");
    }
    let missed: Vec<_> = MUST_SEE.iter().filter(|must| !shapes.contains(**must)).collect();
    assert!(missed.is_empty(), "these pages were not on the tour: {missed:?}, but these: {shapes:?}");
    shapes
}

/// What is for programs, or not ours, is not a page of the console.
fn is_page(path: &str) -> bool {
    !["/api/", "/docs", "/openapi", "/in/", "/metrics", "/assets"].iter().any(|other| path.starts_with(other))
        && !path.ends_with("/text")
}

/// A path without the names of things, and with the names of its parameters.
fn shape(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let named = |part: &str| part.bytes().any(|byte| byte.is_ascii_digit() || byte == b'%' || byte == b'~');
    let parts: Vec<_> = path.split('/').map(|part| if named(part) { "{}" } else { part }).collect();
    let mut names: Vec<_> =
        query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { parts.join("/") } else { format!("{}?{}", parts.join("/"), names.join("&")) }
}

/// The same without its parameters.
pub(super) fn shape_of(path: &str) -> String {
    bare(&shape(path)).to_owned()
}

fn bare(shape: &str) -> &str {
    shape.split('?').next().unwrap_or(shape)
}
