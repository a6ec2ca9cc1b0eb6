//! A new comparison.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_fetch::compare::{CompareSpec, new_comparison};
use malla_fetch::tour::Tour;
use malla_queue::Act;
use maud::{Markup, html};

use super::super::{COMPARISONS, NEW_COMPARISON, tour_path};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, number};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts};

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Change>) -> Result<Page, Refusal> {
    let usual = Params::from([("wait_s", CompareSpec::default().wait_s.to_string().as_str())]);
    page(&console, &visitor, &Form { typed: &usual, wrong: None }).await
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("none: seen by admins only")).await?;
    let there = countries(console, person).await?;
    let page = Page::new(COMPARISONS, t!("New comparison")).up(COMPARISONS, t!("Comparisons"));
    Ok(page.still(card(person, form, &group, &there)))
}

/// Where devices are now.
async fn countries(console: &Console, person: &Person) -> Result<Vec<String>, Refusal> {
    let devices = console.fetch.devices(&person.principal.scope()).await?;
    let now = console.now();
    let online = devices.into_iter().filter(|device| device.state(now) == malla_fetch::DeviceState::Online);
    let mut there: Vec<String> = online.filter_map(|device| device.about.country).collect();
    there.sort();
    there.dedup();
    Ok(there)
}

fn card(person: &Person, form: &Form<'_>, group: &Markup, there: &[String]) -> Markup {
    let hint = match there.is_empty() {
        true => t!("Two letters each, as AR, DE.").to_owned(),
        false => say!("Two letters each. Devices are in {} now.", there.join(", ")),
    };
    html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW_COMPARISON) {
                (parts::form_secret(person))
                (form.area(t!("URLs"), "urls", t!("One a line, at most 50."), "https://example.org/"))
                (form.text(t!("Countries"), "countries", &hint, "AR, DE"))
                (form.number(t!("Or so many devices"), "devices", t!("Of different owners where there are.")))
                (form.number(t!("Repeated every"), "every_s", t!("In seconds; empty: once.")))
                (form.number(t!("A page waits for its place"), "wait_s", t!("In seconds.")))
                (group)
                div.buttons { button.primary { (t!("Compare")) } a.button.plain href=(COMPARISONS) { (t!("Cancel")) } }
            }
        }
    }
}

pub(crate) async fn start(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match begin(&console, visitor, fields).await {
        Ok(tour) => {
            let sentence = t!("The pages are asked for from each place. What differs is shown when they have come.");
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
    let spec = read(fields)?;
    let group = owner::read(console, person, fields).await?;
    let detail = serde_json::json!({ "urls": spec.urls, "countries": spec.countries, "devices": spec.devices });
    let act = Act { group, detail, ..Act::new(&person.principal.actor, "compare.begin", "a comparison") };
    super::super::begin(console, new_comparison(&spec, group)?, spec.asks_for(), act).await
}

/// Each field is checked with the others as they usually are, so that what is wrong stands next to it.
fn read(fields: &Params) -> Result<CompareSpec, Trouble> {
    let usual = CompareSpec::default();
    let check = |spec: &CompareSpec, field: &'static str| spec.check().map_err(|error| Trouble::at(field, error));
    let lines = fields.raw("urls").lines().map(str::trim).filter(|line| !line.is_empty());
    let urls = CompareSpec { urls: lines.map(str::to_owned).collect(), ..usual.clone() };
    check(&CompareSpec { devices: 2, ..urls.clone() }, "urls")?;
    let codes = fields.raw("countries").split([',', ' ', ';']).map(str::trim).filter(|code| !code.is_empty());
    let placed = CompareSpec {
        countries: codes.map(str::to_uppercase).collect(),
        devices: number(fields, "devices", 0)?,
        ..urls
    };
    check(&placed, if placed.countries.is_empty() && placed.devices > 0 { "devices" } else { "countries" })?;
    let again = CompareSpec { every_s: number(fields, "every_s", 0)?, ..placed };
    check(&again, "every_s")?;
    let spec = CompareSpec { wait_s: number(fields, "wait_s", usual.wait_s)?, ..again };
    check(&spec, "wait_s")?;
    Ok(spec)
}
