//! A new crawl.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_fetch::crawl::{CrawlSpec, Scope, new_crawl};
use malla_fetch::tour::Tour;
use malla_queue::Act;
use maud::{Markup, html};

use super::super::{CRAWLS, NEW_CRAWL, tour_path};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong, number};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts};

/// Fields that few need.
const RARE: [&str; 3] = ["bytes", "pages_per_shape", "pages_per_calendar"];
const EXAMPLE: &str = "https://example.org/";

pub(super) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Host => t!("the seeds' hosts"),
        Scope::Domain => t!("the seeds' domains with all their hosts"),
        Scope::Prefix => t!("what begins as the seeds do"),
    }
}

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Change>) -> Result<Page, Refusal> {
    let usual = fields_of(&CrawlSpec::default());
    page(&console, &visitor, &Form { typed: &usual, wrong: None }).await
}

fn fields_of(spec: &CrawlSpec) -> Params {
    let mut fields = Params::from([
        ("scope", spec.scope.name()),
        ("depth", spec.depth.to_string().as_str()),
        ("pages", spec.pages.to_string().as_str()),
        ("pages_per_shape", spec.pages_per_shape.to_string().as_str()),
        ("pages_per_calendar", spec.pages_per_calendar.to_string().as_str()),
    ]);
    for (name, is) in [("sitemaps", spec.sitemaps), ("canonical", spec.canonical)] {
        if is {
            fields = fields.with(name, "yes");
        }
    }
    fields
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("none: seen by admins only")).await?;
    Ok(Page::new(CRAWLS, t!("New crawl")).up(CRAWLS, t!("Crawls")).still(card(person, form, &group)))
}

fn card(person: &Person, form: &Form<'_>, group: &Markup) -> Markup {
    let scopes: [(&str, Text); 3] = [
        (Scope::Host.name(), key!("the seeds' hosts")),
        (Scope::Domain.name(), key!("the seeds' domains with all their hosts")),
        (Scope::Prefix.name(), key!("what begins as the seeds do")),
    ];
    html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW_CRAWL) {
                (parts::form_secret(person))
                (form.area(t!("Seeds"), "seeds", t!("Where it starts: one URL a line."), EXAMPLE))
                (form.choice(t!("Scope"), "scope", t!("How far it may go from there."), &scopes))
                (form.number(t!("Depth"), "depth", t!("Steps from a seed; 0 fetches the seeds alone.")))
                (form.number(t!("Pages at most"), "pages", ""))
                (group)
                (form.check(t!("Read sitemaps"), "sitemaps"))
                (form.check(t!("Ask the sites even if the cache has it"), "anew"))
                details.whole open[form.is_wrong_in(&RARE)] {
                    summary { (t!("More")) }
                    div.fields {
                        (form.number(t!("Bytes at most"), "bytes", t!("Of all bodies together; empty: no limit.")))
                        (form.number(t!("Pages of one making"), "pages_per_shape", t!("As /thread/1, /thread/2, … on a site; 0: no limit.")))
                        (form.number(t!("Pages of a calendar"), "pages_per_calendar", t!("The same for those with a date.")))
                        (form.check(t!("Take the page that a copy names in its place"), "canonical"))
                        (form.check(t!("Parameters in another order are the same page"), "sort_query"))
                        (form.check(t!("Follow links to pictures, films and other files"), "files"))
                    }
                }
                div.buttons { button.primary { (t!("Start crawl")) } a.button.plain href=(CRAWLS) { (t!("Cancel")) } }
            }
        }
    }
}

pub(crate) async fn start(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match begin(&console, visitor, fields).await {
        Ok(tour) => {
            let sentence = t!("The crawl has started. Its pages are shown as they come.");
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
    let detail = serde_json::json!({ "seeds": spec.seeds, "limit": spec.pages });
    let act = Act { group, detail, ..Act::new(&person.principal.actor, "crawl.begin", "a crawl") };
    super::super::begin(console, new_crawl(&spec, group)?, spec.pages, act).await
}

fn read(fields: &Params) -> Result<CrawlSpec, Trouble> {
    let usual = CrawlSpec::default();
    let lines = fields.raw("seeds").lines().map(str::trim).filter(|line| !line.is_empty());
    let unknown = |name: &str| Wrong::at("scope", say!("\"{name}\" is no scope: choose one of the list.", name));
    let scope = fields.get("scope").map(|name| Scope::from_name(name).ok_or_else(|| unknown(name)));
    let scope = scope.transpose()?.unwrap_or_default();
    let seeds = CrawlSpec { seeds: lines.map(str::to_owned).collect(), scope, ..usual.clone() };
    seeds.check().map_err(|error| Trouble::at("seeds", error))?;
    let deep = CrawlSpec { depth: number(fields, "depth", usual.depth)?, ..seeds };
    deep.check().map_err(|error| Trouble::at("depth", error))?;
    let spec = CrawlSpec {
        pages: number(fields, "pages", usual.pages)?,
        bytes: number(fields, "bytes", 0)?,
        pages_per_shape: number(fields, "pages_per_shape", usual.pages_per_shape)?,
        pages_per_calendar: number(fields, "pages_per_calendar", usual.pages_per_calendar)?,
        sitemaps: fields.get("sitemaps").is_some(),
        canonical: fields.get("canonical").is_some(),
        sort_query: fields.get("sort_query").is_some(),
        files: fields.get("files").is_some(),
        cached: fields.get("anew").is_none(),
        ..deep
    };
    spec.check().map_err(|error| Trouble::at("pages", error))?;
    Ok(spec)
}
