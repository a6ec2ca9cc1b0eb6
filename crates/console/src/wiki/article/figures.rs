//! The history of an article in numbers.

use std::time::Duration;

use malla_queue::UnixMs;
use malla_wiki::WikiId;
use malla_wiki::metrics::{ArticleMetrics, Edit, Period};
use maud::{Markup, html};

use super::super::lines::{change, user};
use super::super::places::revision_path;
use super::super::{size, tile};
use crate::words;

pub(super) fn tiles(measured: Option<&ArticleMetrics>) -> Markup {
    let Some(measured) = measured else {
        return html! { p.notice { (t!("This history is too long to be measured while you wait: the API has its figures.")) } };
    };
    let now = measured.last.as_ref().map_or("–".into(), |last| size(last.size));
    html! {
        @if !measured.whole {
            p.notice { (rich!("This history is very long: the figures and charts are about its oldest {}.", counted!(measured.revisions, "revision", "revisions"))) }
        }
        ul.tiles.small-tiles.four aria-label=(t!("Figures")) {
            (tile(t!("Edits"), &words::count(measured.revisions)))
            (tile(t!("Editors"), &words::count(measured.editors)))
            (tile(t!("Size"), &now))
            (tile(t!("Edits a month"), &few(measured.edits_per_month)))
            (tile(t!("Minor", "edits"), &percent(measured.minor.share)))
            (tile(t!("Anonymous"), &percent(measured.anonymous.share)))
            (tile(t!("By bots"), &percent(measured.bots.share)))
            (tile(t!("Reverts"), &percent(measured.reverts.share)))
        }
    }
}

/// How long it is silent between two edits.
pub(super) fn between(measured: &ArticleMetrics) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Between two edits")) } }
            @match &measured.between_edits {
                Some(between) => dl.facts {
                    dt { (t!("Half of the time within")) } dd { (lasts(between.median_s)) }
                    dt { (t!("On average")) } dd { (lasts(between.mean_s)) }
                    dt { (t!("Longest silence")) } dd { (lasts(between.longest_s)) }
                    dt { (t!("Edits a year")) } dd { (few(measured.edits_per_year)) }
                    dt { (t!("Edits of an editor")) } dd { (few(measured.edits_per_editor)) }
                },
                None => p.quiet { (t!("There is only one so far.")) },
            }
        }
    }
}

/// Edits that stand out, and the years.
pub(super) fn cards(now: UnixMs, wiki: WikiId, measured: Option<&ArticleMetrics>) -> Markup {
    let Some(measured) = measured.filter(|measured| measured.revisions > 0) else { return html! {} };
    let notable = [
        (t!("The first"), &measured.first),
        (t!("The last"), &measured.last),
        (t!("Largest addition"), &measured.largest_addition),
        (t!("Largest removal"), &measured.largest_removal),
    ];
    html! {
        div.columns {
            section.card {
                div.card-head { h2 { (t!("Edits that stand out")) } }
                table.rows {
                    thead { tr { th { (t!("Which")) } th { (t!("When")) } th { (t!("User")) } th.num { (t!("Change")) } } }
                    tbody { @for (which, edit) in notable { @if let Some(edit) = edit { (line(now, wiki, which, edit)) } } }
                }
            }
            (years(&measured.years))
        }
    }
}

fn line(now: UnixMs, wiki: WikiId, which: &str, edit: &Edit) -> Markup {
    html! {
        tr {
            td data-label=(t!("Which")) { a href=(revision_path(wiki, edit.revid)) { (which) } }
            td data-label=(t!("When")) { (words::time(now, UnixMs(edit.at.as_millisecond()))) }
            td data-label=(t!("User")) { (user(edit.user.as_deref(), false)) }
            td.num data-label=(t!("Change")) { (change(Some(edit.change))) }
        }
    }
}

fn years(years: &[Period]) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Years")) } }
            table.rows.dense {
                thead { tr { th { (t!("Year")) } th.num { (t!("Edits")) } th.num { (t!("Minor", "edits")) } th.num { (t!("Anonymous")) } th.num { (t!("Size at its end")) } } }
                tbody { @for year in years.iter().rev() { tr {
                    td data-label=(t!("Year")) { (year.period) }
                    td.num data-label=(t!("Edits")) { (words::count(year.edits)) }
                    td.num data-label=(t!("Minor", "edits")) { (words::count(year.minor)) }
                    td.num data-label=(t!("Anonymous")) { (words::count(year.anonymous)) }
                    td.num data-label=(t!("Size at its end")) { (year.size.map_or("–".into(), size)) }
                } } }
            }
        }
    }
}

/// `12 %`, and `0.4 %` while it is little.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".into(),
        little if little < 1.0 => format!("{} %", words::decimal(little, 1)),
        share => format!("{} %", words::decimal(share, 0)),
    }
}

/// A number that may be small.
fn few(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        little if little < 1.0 => words::decimal(little, 2),
        few if few < 10.0 => words::decimal(few, 1),
        many => words::count(many.round() as u64),
    }
}

fn lasts(seconds: f64) -> String {
    let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    words::lasted(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_with_as_many_digits_as_they_need() {
        let told = [0.0, 0.004, 0.25, 1.0].map(percent);
        assert_eq!(told, ["0", "0.4 %", "25 %", "100 %"]);
        assert_eq!([0.0, 0.04, 3.12, 12.6, 4_321.0].map(few), ["0", "0.04", "3.1", "13", "4,321"]);
        assert_eq!([0.0, -1.0, 90.0, f64::INFINITY].map(lasts)[..3], ["0 ms", "0 ms", "1 min 30 s"]);
    }
}
