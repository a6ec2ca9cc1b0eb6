//! The settings that are in force, and where each came from. For admins.

use axum::extract::State as Shared;
use axum::response::Response;
use maud::{Markup, html};

use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{Administer, Visitor};
use crate::{Console, Setting, export, parts};

pub(crate) const SETTINGS: &str = "/settings";
const NAMES: &[&str] = &["search", "from"];
const SOURCES: [(&str, Text); 5] = [
    ("", key!("anywhere")),
    ("default", key!("the defaults")),
    ("file", key!("the file")),
    ("variable", key!("a variable")),
    ("flag", key!("a flag")),
];

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    _: Visitor<Administer>,
    params: Params,
) -> Result<Page, Refusal> {
    let (all, shown) = (&console.settings.effective, found(&console, &params));
    let page = Page::new(SETTINGS, t!("Settings"))
        .lead(html! {
            (t!("What this process runs with. A later source wins: the defaults, the file, variables, flags. Changes need a restart."))
        })
        .csv(params.only(NAMES).link("/settings.csv"))
        .still(filters(&params));
    if shown.is_empty() {
        let next = (!all.is_empty()).then_some((SETTINGS, t!("Show all settings")));
        return Ok(page.still(parts::empty(t!("No setting matches these filters."), next)));
    }
    Ok(page
        .still(
            html! { @for section in shown.chunk_by(|one, other| section(one) == section(other)) { (card(section)) } },
        )
        .still(by_hand()))
}

/// Those that match; what belongs to no section comes first.
fn found<'a>(console: &'a Console, params: &Params) -> Vec<&'a Setting> {
    let search = params.get("search").map(str::to_lowercase);
    let wanted = |setting: &&Setting| {
        let found = |search: &String| {
            setting.key.to_lowercase().contains(search) || setting.value.to_lowercase().contains(search)
        };
        search.as_ref().is_none_or(found) && params.get("from").is_none_or(|from| setting.source.starts_with(from))
    };
    let mut found: Vec<&Setting> = console.settings.effective.iter().filter(wanted).collect();
    found.sort_by_key(|setting| section(setting));
    found
}

/// Secrets are masked here as on the page.
pub(crate) async fn csv(Shared(console): Shared<Console>, _: Visitor<Administer>, params: Params) -> Response {
    let cells = |setting: &&Setting| vec![setting.key.clone(), setting.value.clone(), setting.source.clone()];
    export::csv_of("settings", &["key", "value", "source"], found(&console, &params).iter().map(cells).collect())
}

/// `http` of `http.body_bytes_max`
fn section(setting: &Setting) -> &str {
    setting.key.split_once('.').map_or("", |(section, _)| section)
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action=(SETTINGS) role="search" {
            label.wide { span.label { (t!("Search")) }
                input type="search" name="search" value=(params.typed("search")) placeholder=(t!("part of a key or value")); }
            label { span.label { (t!("Comes from")) } (parts::choose("from", &SOURCES, params.typed("from"))) }
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).is_empty() { a.button.plain href=(SETTINGS) { (t!("Clear")) } }
            }
        }
    }
}

fn card(settings: &[&Setting]) -> Markup {
    let name = settings.first().map_or("", |setting| section(setting));
    html! {
        section.card {
            div.card-head { h2 { @if name.is_empty() { (t!("General")) } @else { code { (name) } } } }
            table.rows.settings-table {
                thead { tr { th { (t!("Key")) } th { (t!("Value")) } th { (t!("Comes from")) } } }
                tbody { @for setting in settings { tr {
                    td data-label=(t!("Key")) { code { (setting.key) } }
                    td data-label=(t!("Value")) {
                        @if matches!(setting.value.as_str(), "" | "\"\"" | "[]") { span.quiet { (t!("empty")) } }
                        @else { code { (setting.value) } }
                    }
                    td data-label=(t!("Comes from")) { (source(&setting.source)) }
                } } }
            }
        }
    }
}

fn source(source: &str) -> Markup {
    html! {
        @match source.split_once(' ') {
            Some(("file", name)) => { (t!("file")) " " code { (name) } },
            Some(("variable", name)) => { (t!("variable")) " " code { (name) } },
            Some(("flag", name)) => { (t!("flag")) " " code { (name) } },
            _ if source == "default" => span.quiet { (t!("default")) },
            _ => (source),
        }
    }
}

fn by_hand() -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("The same from a terminal")) } }
            (parts::command_line("malla config print"))
        }
    }
}
