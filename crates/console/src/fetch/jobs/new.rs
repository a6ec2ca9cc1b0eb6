//! A new job.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_fetch::{Job, NewJob, Terms, Wanted};
use malla_queue::{Act, Error};
use maud::{Markup, html};

use super::super::{JOBS, NEW_JOB};
use super::job_path;
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, owner, parts, words};

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Change>) -> Result<Page, Refusal> {
    page(&console, &visitor, &Form::default()).await
}

async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let group = owner::field(console, person, form, t!("none: seen by admins only")).await?;
    Ok(Page::new(JOBS, t!("New job")).up(JOBS, t!("Jobs")).still(card(person, form, &group)))
}

fn card(person: &Person, form: &Form<'_>, group: &Markup) -> Markup {
    let hint = t!("One a line, at most 10,000. Each site is asked as slowly as it wants.");
    html! {
        section.card {
            (form.head())
            form.fields method="post" action=(NEW_JOB) {
                (parts::form_secret(person))
                (form.area(t!("URLs"), "urls", hint, "https://example.org/"))
                (group)
                (form.check(t!("Ask the sites even if the cache has it"), "anew"))
                div.buttons { button.primary { (t!("Start job")) } a.button.plain href=(JOBS) { (t!("Cancel")) } }
            }
        }
    }
}

pub(crate) async fn start(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match ask(&console, visitor, fields).await {
        Ok(job) => {
            let sentence =
                say!("The job has {}. Its results are shown as they come.", counted!(job.total, "URL", "URLs"));
            Ok(go(&console, &job_path(job.id), Notice::good(sentence)))
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let page = page(&console, visitor, &Form { typed: fields, wrong: Some(&wrong) }).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

async fn ask(console: &Console, person: &Person, fields: &Params) -> Result<Job, Trouble> {
    let wanted = read_urls(fields.raw("urls"), fields.get("anew").is_none())?;
    let wanted: Vec<Wanted> = wanted.into_iter().map(|wanted| console.fetching.blocked.apply(wanted)).collect();
    let (group, actor) = (owner::read(console, person, fields).await?, person.principal.actor.as_str());
    for wanted in &wanted {
        if let Wanted::Refused { url, why } = wanted {
            tracing::warn!(actor, url, reason = why.note, "a URL was refused");
        }
    }
    let detail = serde_json::json!({ "urls": wanted.len() });
    let terms = Terms { prices: console.fetching.prices, ..Terms::default() };
    let job = NewJob { group, wanted, pending_max: console.fetching.pending_max, lanes: console.fetching.lanes, terms };
    job.check().map_err(|error| Trouble::at("urls", error))?;
    console.door.admit(group, job.pages()).await?;
    let act = Act { group, detail, ..Act::new(actor, "fetch.ask", "pages") };
    let pages = job.pages();
    let asked = console.fetch.ask(job, act).await.map_err(|error| match error {
        // The URLs stay in the form: they were work to gather.
        Error::Full { .. } => Trouble::from(Wrong::at("", words::capital(&error.to_string()))),
        other => Trouble::at("urls", other),
    })?;
    console.door.took_in(group, pages).await;
    Ok(asked)
}

/// What can be fetched and what cannot, which gets its reason as its result. Only if nothing can is the form wrong.
fn read_urls(text: &str, cached: bool) -> Result<Vec<Wanted>, Wrong> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let wanted: Vec<Wanted> = lines.map(|line| Wanted::read(line, cached)).collect();
    match wanted.first() {
        Some(Wanted::Refused { url, why }) if !wanted.iter().any(|one| matches!(one, Wanted::Page { .. })) => {
            Err(Wrong::at("urls", say!("\"{url}\" cannot be fetched: {}", url, why.note)))
        }
        _ => Ok(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_urls_and_empty_ones_are_none() {
        let wanted = read_urls("\r\n https://a.example/ \r\n\r\nnonsense\nhttp://b.example", false).expect("some can");
        let told: Vec<String> = wanted.iter().map(told).collect();
        assert_eq!(told, ["https://a.example/ anew", "nonsense refused", "http://b.example/ anew"]);
        assert_eq!(read_urls(" \n\n", true).expect("that is for the job to judge").len(), 0);
    }

    fn told(wanted: &Wanted) -> String {
        match wanted {
            Wanted::Page { url, cached, .. } => format!("{url} {}", if *cached { "cached" } else { "anew" }),
            Wanted::Refused { url, .. } => format!("{url} refused"),
        }
    }

    #[test]
    fn a_form_without_anything_to_fetch_is_wrong() {
        let wrong = read_urls("ftp://a.example/\nnonsense", true).expect_err("nothing can be fetched");
        let expected = "\"ftp://a.example/\" cannot be fetched: only http and https are fetched, not ftp";
        assert_eq!(wrong, Wrong::at("urls", expected));
    }
}
