//! The plots of the statistics.

use malla_notify::{Figures, Step};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::{Shown, milliseconds, percent};
use crate::plot::{Plot, Series, Shape};
use crate::tongue::Noun;
use crate::words;

impl Shown {
    pub(super) fn plots(&self) -> Markup {
        html! {
            div.plots {
                (self.events().card())
                (self.attempts().card())
                (self.latencies().card())
                (self.peaks().card())
                @if self.step == Step::Day && !self.summary.months.is_empty() { (self.months().card()) }
            }
        }
    }

    fn places(&self) -> Vec<String> {
        let format = match self.step {
            Step::Minute => "%H:%M",
            Step::Hour => "%a %H:00",
            Step::Day => "%d %b",
        };
        self.steps.iter().map(|(at, _)| words::strftime(*at, format)).collect()
    }

    fn values(&self, of: impl Fn(&Figures) -> Option<f64>) -> Vec<Option<f64>> {
        self.steps.iter().map(|(_, figures)| of(figures)).collect()
    }

    fn highest(&self, of: impl Fn(&Figures) -> u64) -> Option<(UnixMs, u64)> {
        let all = self.steps.iter().map(|(at, figures)| (*at, of(figures)));
        all.filter(|(_, value)| *value > 0).max_by_key(|(_, value)| *value)
    }

    /// A sentence on the whole and its highest step.
    fn told(&self, what: Noun, total: u64, highest: Option<(UnixMs, u64)>) -> String {
        let total = words::counted(total, what);
        let Some((at, most)) = highest else { return say!("No {} in this time.", what.many) };
        let (most, at) = (words::count(most), words::full(at));
        match self.step {
            Step::Minute => say!("{} in all; most in one minute: {}, at {}.", total, most, at),
            Step::Hour => say!("{} in all; most in one hour: {}, at {}.", total, most, at),
            Step::Day => say!("{} in all; most in one day: {}, at {}.", total, most, at),
        }
    }

    fn events(&self) -> Plot<'_> {
        let of = |figures: &Figures| figures.events;
        Plot {
            id: "events",
            title: match self.step {
                Step::Minute => t!("Events a minute"),
                Step::Hour => t!("Events an hour"),
                Step::Day => t!("Events a day"),
            },
            description: self.told(noun!("event", "events"), self.summary.total.events, self.highest(of)),
            shape: Shape::Bars,
            series: vec![series(t!("events"), "running", self.values(|figures| Some(of(figures) as f64)))],
            places: self.places(),
            number: whole,
        }
    }

    fn attempts(&self) -> Plot<'_> {
        let total = &self.summary.total;
        let ended = say!(
            "Of these, {} delivered, {} to be tried again, {} failed for good.",
            words::count(total.delivered),
            words::count(total.retried),
            words::count(total.failed)
        );
        Plot {
            id: "attempts",
            title: match self.step {
                Step::Minute => t!("Attempts a minute"),
                Step::Hour => t!("Attempts an hour"),
                Step::Day => t!("Attempts a day"),
            },
            description: self.told(noun!("attempt", "attempts"), total.attempts(), self.highest(Figures::attempts))
                + " "
                + &ended,
            shape: Shape::Bars,
            series: vec![
                series(t!("delivered", "several"), "succeeded", self.values(|figures| Some(figures.delivered as f64))),
                series(t!("tried again"), "paused", self.values(|figures| Some(figures.retried as f64))),
                series(t!("failed", "several"), "failed", self.values(|figures| Some(figures.failed as f64))),
            ],
            places: self.places(),
            number: whole,
        }
    }

    fn latencies(&self) -> Plot<'_> {
        let share = |share: f64| self.values(move |figures| figures.latencies.percentile_ms(share));
        let all = [(0.5, t!("half")), (0.9, t!("nine of ten")), (0.99, t!("99 of 100"))];
        let told = all.map(|(share, words)| {
            let within = self.summary.total.latencies.percentile_ms(share);
            within.map_or(say!("{words}: none", words), |ms| say!("{words} within {}", words, milliseconds(ms)))
        });
        Plot {
            id: "latencies",
            title: t!("From the event to its delivery"),
            description: say!("Delivered in this time: {}.", told.join(", ")),
            shape: Shape::Lines,
            series: vec![
                series(t!("half within"), "succeeded", share(0.5)),
                series("90 %", "paused", share(0.9)),
                series("99 %", "failed", share(0.99)),
            ],
            places: self.places(),
            number: milliseconds,
        }
    }

    fn peaks(&self) -> Plot<'_> {
        let of = |figures: &Figures| figures.peak;
        let most = self.summary.total.peak;
        Plot {
            id: "peaks",
            title: t!("Deliveries at the same time, at most"),
            description: say!("At most {} deliveries of one subscription at the same time.", words::count(most)),
            shape: Shape::Bars,
            series: vec![series(t!("at the same time"), "notified", self.values(|figures| Some(of(figures) as f64)))],
            places: self.places(),
            number: whole,
        }
    }

    fn months(&self) -> Plot<'_> {
        let months = &self.summary.months;
        let told =
            months.iter().filter_map(|month| Some(format!("{} {}", month.name(), percent(month.failure_rate()?))));
        Plot {
            id: "months",
            title: t!("Failure rate a month"),
            description: say!("Of what ended in each month: {}.", told.collect::<Vec<_>>().join(", ")),
            shape: Shape::Bars,
            series: vec![series(
                t!("failed", "several"),
                "failed",
                months.iter().map(|month| month.failure_rate()).collect(),
            )],
            places: months.iter().map(|month| month.name()).collect(),
            number: percent,
        }
    }
}

fn series<'a>(name: &'a str, tone: &'a str, values: Vec<Option<f64>>) -> Series<'a> {
    Series { name, tone, values }
}

/// A count on an axis: in full while it is short.
fn whole(value: f64) -> String {
    words::on_axis(value)
}
