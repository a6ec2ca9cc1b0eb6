//! Statistics: of all, of an endpoint or of a subscription, over an hour, two days or ninety days.

mod figures;
mod plots;

use std::time::Duration;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_notify::{Figures, Step, Subject, Summary, summarize};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::{ENDPOINTS, STATISTICS, SUBSCRIPTIONS, endpoint_path, subscription_path};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{See, Visitor};
use crate::{Console, export, words};

/// The ranges that can be chosen: a step, its name in the address, and what it is called.
const RANGES: [(Step, &str, Text); 3] = [
    (Step::Minute, "minute", key!("Last hour")),
    (Step::Hour, "hour", key!("Last two days")),
    (Step::Day, "day", key!("Last ninety days")),
];

/// What is shown: figures of steps without gaps.
struct Shown {
    step: Step,
    steps: Vec<(UnixMs, Figures)>,
    summary: Summary,
    /// Of an endpoint, of a subscription, or of all.
    of: Of,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Of {
    All,
    Endpoint(String),
    Subscription(String),
}

impl Of {
    fn read(params: &Params) -> Self {
        match (params.get("subscription"), params.get("endpoint")) {
            (Some(name), _) => Self::Subscription(name.to_owned()),
            (None, Some(name)) => Self::Endpoint(name.to_owned()),
            (None, None) => Self::All,
        }
    }

    async fn find(&self, console: &Console, person: &Person) -> Result<Option<Subject>, Refusal> {
        let scope = person.principal.scope();
        Ok(match self {
            Self::All => None,
            Self::Endpoint(name) => Some(Subject::Endpoint(console.notify.endpoint(&scope, name).await?.id)),
            Self::Subscription(name) => {
                Some(Subject::Subscription(console.notify.subscription(&scope, name).await?.id))
            }
        })
    }

    fn fields(&self) -> Params {
        match self {
            Self::All => Params::default(),
            Self::Endpoint(name) => Params::from([("endpoint", name.as_str())]),
            Self::Subscription(name) => Params::from([("subscription", name.as_str())]),
        }
    }
}

/// The statistics of an endpoint.
pub(super) fn of_endpoint(name: &str) -> String {
    Of::Endpoint(name.to_owned()).fields().link(STATISTICS)
}

pub(super) fn of_subscription(name: &str) -> String {
    Of::Subscription(name.to_owned()).fields().link(STATISTICS)
}

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let shown = Shown::find(console, person, params).await?;
    let page = match &shown.of {
        Of::All => Page::new(STATISTICS, t!("Statistics")),
        Of::Endpoint(name) => Page::new(STATISTICS, say!("Statistics of {name}", name))
            .up(endpoint_path(name), say!("Endpoint {name}", name)),
        Of::Subscription(name) => Page::new(STATISTICS, say!("Statistics of {name}", name))
            .up(subscription_path(name), say!("Subscription {name}", name)),
    };
    let file = params.only(&["endpoint", "subscription", "step"]).link("/notify/statistics.csv");
    let page = page.lead(shown.lead()).csv(file).still(shown.chips());
    // Longer ranges change little in a minute, and cost more to add up.
    Ok(match shown.step {
        Step::Minute => page.live("summary", shown.tiles()).live("plots", shown.plots()).live("table", shown.table()),
        Step::Hour | Step::Day => page.still(shown.tiles()).still(shown.plots()).still(shown.table()),
    })
}

/// Every step with its figures, also those without.
pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 7] = ["at", "events", "bytes", "delivered", "retried", "failed", "peak"];
    let shown = Shown::find(&console, &visitor, &params).await?;
    let cells = |(at, figures): &(UnixMs, Figures)| {
        let Figures { events, bytes, delivered, retried, failed, peak, .. } = figures;
        let counts = [events, bytes, delivered, retried, failed, peak].map(u64::to_string);
        [export::moment(Some(*at))].into_iter().chain(counts).collect()
    };
    Ok(export::csv_of("statistics", &COLUMNS, shown.steps.iter().map(cells).collect()))
}

impl Shown {
    async fn find(console: &Console, person: &Person, params: &Params) -> Result<Self, Refusal> {
        let asked = params.get("step").unwrap_or("minute");
        let Some((step, ..)) = RANGES.into_iter().find(|(_, name, _)| *name == asked) else {
            return Err(Refusal::bad(say!("\"{asked}\" is not a step: minute, hour or day", asked)));
        };
        let of = Of::read(params);
        let subject = of.find(console, person).await?;
        let now = console.now();
        let from = step.begin(now).minus(step.lasts() * (count(step) - 1));
        let found =
            console.statistics.figures(&person.principal.scope(), subject, step, from, UnixMs(now.0 + 1)).await?;
        let summary = summarize(&found, now);
        Ok(Self { step, steps: without_gaps(step, from, found), summary, of })
    }

    fn lead(&self) -> Markup {
        html! {
            @match &self.of {
                Of::All => {
                    @let endpoints = html! { a href=(ENDPOINTS) { (t!("endpoints")) } };
                    @let subscriptions = html! { a href=(SUBSCRIPTIONS) { (t!("subscriptions")) } };
                    (rich!("Of all endpoints and subscriptions that you see. Those of one are on the pages of {} and {}.", endpoints, subscriptions))
                    " "
                },
                Of::Endpoint(_) => { (t!("Its events, and the deliveries of the subscriptions to it.")) " " },
                Of::Subscription(_) => { (t!("Its deliveries.")) " " },
            }
            (t!("Times are in UTC."))
        }
    }

    fn chips(&self) -> Markup {
        html! {
            nav.chips aria-label=(t!("Range")) {
                @for (step, name, words) in RANGES {
                    a.chip href=(self.of.fields().with("step", name).link(STATISTICS))
                        aria-current=[(step == self.step).then_some("true")] { (words) }
                }
            }
        }
    }
}

/// As many steps as a plot shows.
fn count(step: Step) -> u32 {
    match step {
        Step::Minute => 60,
        Step::Hour => 48,
        Step::Day => 90,
    }
}

fn without_gaps(step: Step, from: UnixMs, found: Vec<(UnixMs, Figures)>) -> Vec<(UnixMs, Figures)> {
    let mut found = found.into_iter().peekable();
    let begins = (0..count(step)).map(|nth| from.plus(step.lasts() * nth));
    begins
        .map(|begin| (begin, found.next_if(|(at, _)| *at == begin).map_or_else(Figures::default, |(_, f)| f)))
        .collect()
}

/// `340 ms`, `1.2 s`
fn milliseconds(ms: f64) -> String {
    if ms < 1_000.0 {
        return format!("{} ms", words::decimal(ms, 0));
    }
    words::lasted(Duration::from_secs_f64((ms / 1_000.0).min(1e9)))
}

/// `0.25 %`
fn percent(rate: f64) -> String {
    let percent = rate * 100.0;
    format!("{} %", words::decimal(percent, if percent == 0.0 || percent >= 10.0 { 0 } else { 2 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_without_figures_are_there_too() {
        let from = UnixMs(0);
        let third = (UnixMs(120_000), Figures { events: 7, ..Figures::default() });
        let steps = without_gaps(Step::Minute, from, vec![third]);
        assert_eq!(steps.len(), 60);
        assert_eq!((steps[1].1.events, steps[2].1.events, steps[59].0), (0, 7, UnixMs(59 * 60_000)));
    }

    #[test]
    fn rates_and_times_have_their_units() {
        assert_eq!((percent(0.0), percent(0.0025), percent(0.5)), ("0 %".into(), "0.25 %".into(), "50 %".into()));
        assert_eq!((milliseconds(45.3), milliseconds(1_448.2)), ("45 ms".into(), "1.4 s".into()));
    }
}
