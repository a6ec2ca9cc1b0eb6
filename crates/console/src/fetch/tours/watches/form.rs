//! The form of a watch, for a new one and for one that is changed.

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_fetch::tour::{Tour, TourChange, TourKind};
use malla_fetch::watch::{WatchSpec, new_watch};
use malla_queue::Act;
use maud::{Markup, html};

use super::super::{NEW_WATCH, WATCHES, find, tour_path};
use super::{detail, read as known};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, number};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts};

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Change>) -> Result<Page, Refusal> {
    let usual = fields_of(&WatchSpec::default());
    page(&console, &visitor, &Form { typed: &usual, wrong: None }).await
}

/// As they are typed.
pub(super) fn fields_of(spec: &WatchSpec) -> Params {
    Params::from([
        ("url", spec.url.as_str()),
        ("selector", spec.selector.as_deref().unwrap_or_default()),
        ("ignore", spec.ignore.join("\n").as_str()),
        ("interval_min_s", spec.interval_min_s.to_string().as_str()),
        ("interval_max_s", spec.interval_max_s.to_string().as_str()),
        ("versions", spec.versions.to_string().as_str()),
        ("bytes", spec.bytes.to_string().as_str()),
    ])
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("none: seen by admins only")).await?;
    Ok(Page::new(WATCHES, t!("New watch")).up(WATCHES, t!("Watches")).still(html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW_WATCH) {
                (parts::form_secret(person))
                div.whole { (form.text("URL", "url", t!("It is fetched at once, and then as often as it changes."), "https://example.org/news")) }
                (fields(form))
                (group)
                div.buttons { button.primary { (t!("Watch it")) } a.button.plain href=(WATCHES) { (t!("Cancel")) } }
            }
        }
    }))
}

/// What can be changed later, too.
fn fields(form: &Form<'_>) -> Markup {
    html! {
        div.whole { (form.text(t!("Part of the page"), "selector", t!("A CSS selector; empty: all of its text."), "#news")) }
        (form.area(t!("Ignored"), "ignore", t!("What makes no difference: one regular expression a line."), "[0-9]+ visitors"))
        (form.number(t!("Shortest interval"), "interval_min_s", t!("In seconds.")))
        (form.number(t!("Longest interval"), "interval_max_s", t!("In seconds.")))
        (form.number(t!("Versions kept"), "versions", ""))
        (form.number(t!("Bytes kept"), "bytes", t!("Of the texts of all versions together.")))
    }
}

/// The form on the page of a watch.
pub(super) fn settings(person: &Person, tour: &Tour, form: &Form<'_>) -> Markup {
    html! {
        section.card {
            details.settings open[form.wrong.is_some()] {
                summary.card-head { h2 { (t!("Settings")) } }
                (form.head())
                form.fields method="post" action=(tour_path(tour)) {
                    (parts::form_secret(person)) (fields(form))
                    div.buttons { button.primary { (t!("Save")) } }
                }
            }
        }
    }
}

pub(crate) async fn create(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match begin(&console, visitor, fields).await {
        Ok(tour) => {
            let sentence = t!("The page is watched. Its first version is there after the first visit.");
            Ok(go(&console, &tour_path(&tour), Notice::good(sentence)))
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let page = page(&console, visitor, &Form { typed: fields, wrong: Some(&wrong) }).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

async fn begin(console: &Console, person: &Person, fields: &Params) -> Result<Tour, Trouble> {
    let spec = read(fields, WatchSpec { url: fields.typed("url").trim().to_owned(), ..WatchSpec::default() })?;
    let group = owner::read(console, person, fields).await?;
    let act = Act { group, ..Act::new(&person.principal.actor, "watch.begin", &spec.url) };
    super::super::begin(console, new_watch(&spec, group, console.now())?, 1, act).await
}

/// Each field is checked with the others as they usually are, so that what is wrong stands next to it.
fn read(fields: &Params, before: WatchSpec) -> Result<WatchSpec, Trouble> {
    let usual = WatchSpec { url: before.url.clone(), ..WatchSpec::default() };
    let check = |spec: &WatchSpec, field: &'static str| spec.check().map_err(|error| Trouble::at(field, error));
    check(&usual, "url")?;
    let selector = fields.get("selector").map(str::to_owned);
    check(&WatchSpec { selector: selector.clone(), ..usual.clone() }, "selector")?;
    let lines = fields.raw("ignore").lines().map(str::trim).filter(|line| !line.is_empty());
    let ignore: Vec<String> = lines.map(str::to_owned).collect();
    check(&WatchSpec { ignore: ignore.clone(), ..usual.clone() }, "ignore")?;
    let timed = WatchSpec {
        interval_min_s: number(fields, "interval_min_s", usual.interval_min_s)?,
        interval_max_s: number(fields, "interval_max_s", usual.interval_max_s)?,
        ..usual.clone()
    };
    check(&timed, "interval_max_s")?;
    let spec = WatchSpec {
        selector,
        ignore,
        versions: number(fields, "versions", usual.versions)?,
        bytes: number(fields, "bytes", usual.bytes)?,
        ..timed
    };
    check(&spec, "versions")?;
    Ok(spec)
}

pub(crate) async fn change(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let tour = find(&console, visitor, TourKind::Watch, &id).await?;
    match save(&console, visitor, &tour, fields).await {
        Ok(()) => Ok(go(&console, &tour_path(&tour), Notice::good(t!("The watch's settings are saved.")))),
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let form = Form { typed: fields, wrong: Some(&wrong) };
            let page = detail::page_with(&console, visitor, &tour, &Params::default(), &form).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).at_rest().into_response())
        }
    }
}

async fn save(console: &Console, person: &Person, tour: &Tour, fields: &Params) -> Result<(), Trouble> {
    let (before, _) = known(tour);
    let spec = read(fields, before.clone())?;
    let text = serde_json::to_string(&spec).expect("plain data is JSON");
    let change = TourChange { state: None, spec: (spec != before).then_some(text) };
    let act = Act::new(&person.principal.actor, "watch.change", tour.id.to_string());
    console.tours.change(&person.principal.scope(), TourKind::Watch, tour.id, change, act).await?;
    Ok(())
}
