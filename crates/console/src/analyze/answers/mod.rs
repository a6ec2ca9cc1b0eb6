//! The answers of an analysis: a card for each, with what was found in a sentence, a drawing and a table.

mod bikes;
mod table;

use std::sync::Arc;

use malla_analyze::{Study, StudyId};
use maud::{Markup, html};

use crate::refusal::Refusal;
use crate::{Console, words};

/// Rows of an answer on the page: the API has them all.
const ROWS_MAX: usize = 100;

/// Answers by their names, as JSON.
pub(super) struct Answers<'s> {
    study: &'s Study,
    named: Vec<(String, Vec<u8>)>,
    /// Made of what is known so far.
    partial: bool,
}

impl<'s> Answers<'s> {
    /// Of an analysis that succeeded.
    pub(super) async fn made(console: &Console, study: &'s Study) -> Result<Self, Refusal> {
        let mut named = Vec::new();
        // An analysis that this version does not know any more has none.
        for name in study.analysis().map_or(&[][..], |analysis| analysis.answers()) {
            if let Some(answer) = console.analyze.answer(study.id, name).await? {
                named.push(((*name).to_owned(), answer));
            }
        }
        Ok(Self { study, named, partial: false })
    }

    /// Of an analysis under way: its cards, or why there are none.
    pub(super) async fn so_far(console: &Console, study: Study) -> Result<Markup, Refusal> {
        let (study, now) = (Arc::new(study), console.now());
        let _turn = console.so_far.acquire().await;
        let made = malla_analyze::answers(&console.analyze, study.clone()).await?;
        let (mapped, taken) = (words::count(study.mapped), words::count(study.taken));
        Ok(html! {
            p.notice {
                strong { (t!("So far.")) " " } (rich!("From {} of {} batches, at {}. The answers may change until all are worked on; reload to look again.", mapped, taken, words::strftime(now, "%H:%M:%S UTC")))
            }
            @match made {
                Ok(named) => (Answers { study: &study, named, partial: true }.cards()),
                Err(rejected) => p.notice.bad { (rejected) },
            }
        })
    }

    pub(super) fn cards(&self) -> Markup {
        html! {
            @for (name, json) in &self.named { (self.card(name, json)) }
            @if self.named.is_empty() { p.quiet { (t!("Its answers are not known any more.")) } }
        }
    }

    fn card(&self, name: &str, json: &[u8]) -> Markup {
        let shown = match self.study.kind.as_str() {
            "bike-rides" => bikes::shown(self.study, name, json),
            _ => None,
        };
        shown.unwrap_or_else(|| table::shown(name, json)).card(self.study.id, name, self.partial)
    }
}

/// What an answer looks like.
struct Shown {
    title: String,
    sentence: Markup,
    drawing: Option<Markup>,
    /// The first of its rows, and how many there are.
    table: Option<(Markup, usize)>,
}

impl Shown {
    fn card(&self, id: StudyId, name: &str, partial: bool) -> Markup {
        let json = format!("/api/v1/analyses/{id}/results/{name}");
        let so_far = if partial { ("?partial=true", "&partial=true") } else { ("", "") };
        html! {
            section.card {
                div.card-head {
                    h2 { (self.title) @if partial { " " span.badge.s-paused { (t!("so far")) } } }
                    span.links {
                        a href={ (json) (so_far.0) } { "JSON" } " "
                        a href={ (json) "?format=csv" (so_far.1) } download={ (id) "-" (name) ".csv" } { "CSV" }
                    }
                }
                @if !self.sentence.0.is_empty() { p { (self.sentence) } }
                (self.body())
            }
        }
    }

    fn body(&self) -> Markup {
        html! {
            @if self.drawing.is_some() || self.table.is_some() {
                div.answer.alone[self.drawing.is_none() || self.table.is_none()] {
                    @if let Some(drawing) = &self.drawing { div { (drawing) } }
                    @if let Some((table, rows)) = &self.table {
                        div {
                            div.scroll tabindex="0" role="region" aria-label=(say!("{}, table", self.title)) { (table) }
                            @if *rows > ROWS_MAX {
                                p.quiet.note {
                                    (rich!("The first {} of {}: JSON and CSV have them all.", ROWS_MAX, words::count(*rows as u64)))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
