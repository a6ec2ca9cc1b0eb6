//! The figures themselves: a few numbers on the range, and a table of its steps.

use std::time::Duration;

use malla_notify::{Figures, Latencies};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::{Of, Shown, milliseconds, percent};
use crate::tongue::Text;
use crate::words;

const SHARES: [(f64, Text); 3] = [(0.5, key!("Half within")), (0.9, key!("90 % within")), (0.99, key!("99 % within"))];

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Shown {
    pub(super) fn tiles(&self) -> Markup {
        let summary = &self.summary;
        let within = |share| share_of(&summary.total.latencies, share);
        html! {
            ul.tiles aria-label=(t!("Summary")) {
                @let day = self.counted_for() >= DAY;
                @if !matches!(self.of, Of::Subscription(_)) {
                    @if day { (tile(t!("Events a day"), &average(summary.events_per_day))) }
                    @else { (tile(t!("Events"), &words::count(summary.total.events))) }
                }
                @if day { (tile(t!("Delivered a day"), &average(summary.delivered_per_day))) }
                @else { (tile(t!("Delivered"), &words::count(summary.total.delivered))) }
                (tile(t!("Failed for good"), &summary.failure_rate().map_or("–".into(), percent)))
                (tile(t!("At once, at most"), &words::count(summary.total.peak)))
                @for (share, name) in SHARES { (tile(name.get(), &within(share))) }
            }
        }
    }

    /// How long ago the first step was in which something happened: an average a day means nothing before a day is over.
    fn counted_for(&self) -> Duration {
        let first = self.steps.iter().find(|(_, figures)| *figures != Figures::default()).map(|(at, _)| *at);
        first.zip(self.steps.last()).map_or(Duration::ZERO, |(first, (last, _))| first.until(*last) + self.step.lasts())
    }

    /// Steps in which something happened, newest first.
    pub(super) fn table(&self) -> Markup {
        let rows: Vec<&(UnixMs, Figures)> =
            self.steps.iter().rev().filter(|(_, figures)| *figures != Figures::default()).collect();
        html! {
            section.card {
                details.settings {
                    summary.card-head { h2 { (t!("All figures")) } }
                    @if rows.is_empty() { p.quiet { (t!("Nothing was counted in this time.")) } }
                    @else { (table(&rows)) }
                    @if !self.summary.months.is_empty() { (self.month_table()) }
                }
            }
        }
    }

    fn month_table(&self) -> Markup {
        html! {
            table.rows.dense {
                thead { tr { th { (t!("Month")) } th.num { (t!("Delivered")) } th.num { (t!("Failed")) } th.num { (t!("Failure rate")) } } }
                tbody { @for month in &self.summary.months { tr {
                    td data-label=(t!("Month")) { (month.name()) }
                    td.num data-label=(t!("Delivered")) { (words::count(month.delivered)) }
                    td.num data-label=(t!("Failed")) { (words::count(month.failed)) }
                    td.num data-label=(t!("Failure rate")) { (month.failure_rate().map_or("–".into(), percent)) }
                } } }
            }
        }
    }
}

fn table(rows: &[&(UnixMs, Figures)]) -> Markup {
    html! {
        table.rows.dense {
            thead { tr {
                th { (t!("From (UTC)")) } th.num { (t!("Events")) } th.num { (t!("Bytes")) } th.num { (t!("Delivered")) } th.num { (t!("Tried again")) }
                th.num { (t!("Failed")) } th.num { (t!("At once")) } @for (_, name) in SHARES { th.num { (name) } }
            } }
            tbody { @for (at, figures) in rows { tr {
                td data-label=(t!("From (UTC)")) { (words::minute(*at)) }
                td.num data-label=(t!("Events")) { (words::count(figures.events)) }
                td.num data-label=(t!("Bytes")) { (words::bytes(usize::try_from(figures.bytes).unwrap_or(usize::MAX))) }
                td.num data-label=(t!("Delivered")) { (words::count(figures.delivered)) }
                td.num data-label=(t!("Tried again")) { (words::count(figures.retried)) }
                td.num data-label=(t!("Failed")) { (words::count(figures.failed)) }
                td.num data-label=(t!("At once")) { (words::count(figures.peak)) }
                @for (share, name) in SHARES { td.num data-label=(name) { (share_of(&figures.latencies, share)) } }
            } } }
        }
    }
}

fn tile(name: &str, value: &str) -> Markup {
    html! { li { div.tile.figure { span.tile-name { (name) } strong { (value) } } } }
}

fn share_of(latencies: &Latencies, share: f64) -> String {
    latencies.percentile_ms(share).map_or("–".into(), milliseconds)
}

fn average(number: f64) -> String {
    if number > 0.0 && number < 100.0 { words::decimal(number, 1) } else { words::count(number.round() as u64) }
}
