//! Asking for the history of a page.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use malla_queue::{Act, Error, GroupId};
use malla_wiki::{Extraction, Target};
use maud::{Markup, html};

use super::overview;
use super::places::{EXTRACT, extraction_path};
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, go};
use crate::{Console, owner, parts, words};

/// Whether requests may leave at all: wikis must be told who asks.
pub(super) fn may_leave(console: &Console) -> bool {
    !console.asking.contact.trim().is_empty()
}

/// The form, for those who may send it and while requests may leave.
pub(super) async fn card(console: &Console, person: &Person, form: &Form<'_>) -> Result<Markup, Refusal> {
    if !person.may(Permission::Change) || !may_leave(console) {
        return Ok(html! {});
    }
    let group = owner::field(console, person, form, t!("none: seen by admins only")).await?;
    Ok(html! {
        section.card {
            div.card-head { h2 { (t!("Extract an article")) } }
            (form.head())
            form.fields method="post" action=(EXTRACT) {
                (parts::form_secret(person))
                div.whole {
                    (form.text(t!("Title or URL"), "article", t!("A title in the wiki of the locale, or the address of a page of any wiki."), "House sparrow"))
                }
                (form.text(t!("Locale"), "locale", t!("The wiki's language, if it is a title: en if empty."), "en"))
                (group)
                div.buttons { button.primary { (t!("Extract")) } }
            }
        }
    })
}

pub(crate) async fn start(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    match read(&console, visitor, fields).await {
        Ok(extraction) => Ok(begun(&console, &extraction)),
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let form = Form { typed: fields, wrong: Some(&wrong) };
            let page = overview::page(&console, visitor, &Params::default(), &form).await?;
            Ok(page.at_rest().status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

/// On to the extraction's own page.
pub(super) fn begun(console: &Console, extraction: &Extraction) -> Response {
    let sentence = t!("The extraction is under way: its revisions are kept as they come.");
    go(console, &extraction_path(extraction.id), Notice::good(sentence))
}

async fn read(console: &Console, person: &Person, fields: &Params) -> Result<Extraction, Trouble> {
    let asked =
        fields.get("article").ok_or_else(|| Wrong::at("article", t!("Write a title or the address of a page.")))?;
    let target = target(asked, fields.get("locale"));
    let group = owner::read(console, person, fields).await?;
    ask(console, person, group, target, asked).await
}

/// What begins as an address is one; a title may well have a colon in it.
fn target(asked: &str, locale: Option<&str>) -> Target {
    let address = ["http://", "https://"].iter().any(|scheme| asked.to_ascii_lowercase().starts_with(scheme));
    if address {
        return Target::Url(asked.to_owned());
    }
    Target::Title { title: asked.to_owned(), locale: locale.map(str::to_owned) }
}

pub(super) async fn ask(
    console: &Console,
    person: &Person,
    group: Option<GroupId>,
    target: Target,
    asked: &str,
) -> Result<Extraction, Trouble> {
    let act = Act { group, ..Act::new(&person.principal.actor, "wiki.extract", asked) };
    console.asking.extract(group, target, act).await.map_err(|error| match error {
        // No contact, or as many as may be: what was typed stays.
        Error::NotAvailable(_) | Error::Full { .. } => Wrong::at("", words::capital(&error.to_string())).into(),
        other => Trouble::at("article", other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_titles_are_told_apart() {
        for (asked, is_address) in [
            ("https://en.wikipedia.org/wiki/Sparrow", true),
            ("HTTP://wiki.example/Sparrow", true),
            ("Help:https", false),
            ("2001: A Space Odyssey (film)", false),
        ] {
            assert_eq!(matches!(target(asked, Some("es")), Target::Url(_)), is_address, "{asked}");
        }
    }
}
