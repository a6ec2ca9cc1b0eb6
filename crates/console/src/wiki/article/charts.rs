//! The history of an article, and of a wiki, in charts.

use malla_wiki::WikiId;
use malla_wiki::metrics::{ArticleMetrics, Period, SizeAt, WikiMetrics};
use maud::{Markup, html};

use super::super::places::article_link;
use super::super::size;
use super::figures;
use crate::bars::{Compared, bars};
use crate::heat;
use crate::plot::{Plot, Series, Shape};
use crate::words;

/// More months than these are too thin to be seen: then years are drawn.
const MONTHS_MAX: usize = 320;
/// Places on the axis of sizes: as many moments, one as far from the next as any other.
const MOMENTS: usize = 120;
const DAY_S: i64 = 86_400;

/// Edits by the hour of each day of the week, Monday first.
pub(super) type Week = [[u64; 24]; 7];

pub(super) fn cards(measured: Option<&ArticleMetrics>, week: Option<&Week>) -> Markup {
    let Some(measured) = measured.filter(|measured| measured.revisions > 0) else { return html! {} };
    html! {
        div.plots {
            (edits(&measured.months, &measured.years).card())
            (sizes(&measured.sizes).card())
            (hours(measured, week))
            (figures::between(measured))
            (by_edits(measured))
            (by_text(measured))
        }
    }
}

/// Of a whole wiki.
pub(in crate::wiki) fn of_wiki(wiki: WikiId, measured: &WikiMetrics) -> Markup {
    if measured.revisions == 0 {
        return html! {};
    }
    let most: Vec<Compared<'_, 1>> = measured.top_by_edits.iter().map(|one| named(&one.user, one.edits)).collect();
    html! {
        div.plots {
            (edits(&measured.months, &measured.years).card())
            section.card {
                div.card-head { h2 { (t!("Users with the most edits")) } span.quiet.note { (rich!("{} in all", counted!(measured.editors, "editor", "editors"))) } }
                div.answer.alone { (bars(t!("Edits of a user"), ["running"], &most)) }
            }
            section.card {
                div.card-head { h2 { (t!("Articles with the most edits")) } }
                table.rows { tbody { @for one in &measured.top_articles { tr {
                    td data-label=(t!("Article")) { (article_link(wiki, one.pageid, &one.title)) }
                    td.num data-label=(t!("Edits")) { (words::count(one.edits)) }
                } } } }
            }
        }
    }
}

/// One on top of the other: what was minor, what came from nobody in particular, and the rest.
fn edits<'a>(months: &'a [Period], years: &'a [Period]) -> Plot<'a> {
    let (periods, title) =
        if months.len() > MONTHS_MAX { (years, t!("Edits a year")) } else { (months, t!("Edits a month")) };
    let total: u64 = periods.iter().map(|period| period.edits).sum();
    let most = periods.iter().max_by_key(|period| period.edits);
    let description = most.map_or_else(String::new, |most| {
        say!("{} edits in all; most in {}: {}.", words::count(total), most.period, words::count(most.edits))
    });
    let values = |of: fn(&Period) -> u64| periods.iter().map(|period| Some(of(period) as f64)).collect();
    Plot {
        id: "edits",
        title,
        description,
        shape: Shape::Bars,
        series: vec![
            Series { name: t!("other"), tone: "running", values: values(other) },
            Series { name: t!("minor", "edits"), tone: "queued", values: values(minor) },
            Series { name: t!("anonymous", "edits"), tone: "paused", values: values(|period| period.anonymous) },
        ],
        places: periods.iter().map(|period| period.period.clone()).collect(),
        number: whole,
    }
}

/// One that is both minor and anonymous is drawn once.
fn minor(period: &Period) -> u64 {
    period.minor.min(period.edits.saturating_sub(period.anonymous))
}

fn other(period: &Period) -> u64 {
    period.edits.saturating_sub(period.anonymous + minor(period))
}

fn sizes(points: &[SizeAt]) -> Plot<'static> {
    let moments = moments(points);
    let span = moments.first().zip(moments.last()).map_or(0, |(first, last)| last.0 - first.0);
    let format = match span {
        span if span > 3 * 365 * DAY_S => "%Y",
        span if span > 60 * DAY_S => "%b %Y",
        span if span > DAY_S => "%d %b",
        _ => "%H:%M",
    };
    let name = |second: i64| {
        jiff::Timestamp::from_second(second)
            .map_or_else(|_| String::new(), |at| words::strftime(malla_queue::UnixMs(at.as_millisecond()), format))
    };
    let largest = points.iter().map(|point| point.size).max().unwrap_or(0);
    let now = points.last().map_or(0, |point| point.size);
    Plot {
        id: "sizes",
        title: t!("Size over time"),
        description: say!("{} now, {} at most.", size(now), size(largest)),
        shape: Shape::Lines,
        series: vec![Series {
            name: t!("bytes"),
            tone: "running",
            values: moments.iter().map(|(_, size)| Some(*size as f64)).collect(),
        }],
        places: moments.iter().map(|(at, _)| name(*at)).collect(),
        number: bytes,
    }
}

/// Points lie where edits were; on the axis each moment has the size that the article had then.
fn moments(points: &[SizeAt]) -> Vec<(i64, u64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let (from, to) = (first.at.as_second(), last.at.as_second());
    let steps = if to > from { MOMENTS } else { 1 };
    let mut next = 0;
    let at = |step: usize| from + ((to - from) as f64 * step as f64 / (steps - 1).max(1) as f64).round() as i64;
    (0..steps)
        .map(|step| {
            let moment = at(step);
            while points.get(next + 1).is_some_and(|point| point.at.as_second() <= moment) {
                next += 1;
            }
            (moment, points[next].size)
        })
        .collect()
}

/// The hours of each day of the week; of a history too long for that, the hours and the days apart.
fn hours(measured: &ArticleMetrics, week: Option<&Week>) -> Markup {
    let apart = || {
        let hours = measured.hours.iter().enumerate().map(|(hour, edits)| (format!("{hour}:00"), *edits));
        let days = measured.weekdays.iter().zip(words::DAYS).map(|(edits, day)| (day.get().to_owned(), *edits));
        html! {
            (counted("hours", t!("Hours of the day (UTC)"), hours.collect()).drawing())
            (counted("days", t!("Days of the week (UTC)"), days.collect()).drawing())
        }
    };
    html! {
        section.card.plot-card {
            div.card-head { h2 { (t!("Hours and days")) } span.quiet.note { "UTC" } }
            @match week {
                Some(week) => (heat::week("week", t!("Edits by hour and day"), noun!("edit", "edits"), week)),
                None => (apart()),
            }
        }
    }
}

fn counted<'a>(id: &'a str, title: &'a str, counts: Vec<(String, u64)>) -> Plot<'a> {
    let most = counts.iter().max_by_key(|(_, edits)| *edits);
    let description = most.map_or_else(String::new, |(place, edits)| {
        say!("Most: {place}, {}.", place, counted!(*edits, "edit", "edits"))
    });
    let (places, values) = counts.into_iter().map(|(place, edits)| (place, Some(edits as f64))).unzip();
    let series = vec![Series { name: t!("edits"), tone: "running", values }];
    Plot { id, title, description, shape: Shape::Bars, series, places, number: whole }
}

fn named(user: &str, edits: u64) -> Compared<'_, 1> {
    Compared { name: user, values: [edits as f64], told: words::count(edits) }
}

fn by_edits(measured: &ArticleMetrics) -> Markup {
    let things = measured.top_by_edits.iter().map(|editor| Compared {
        name: &editor.user,
        values: [editor.edits as f64],
        told: format!("{}, {}", words::count(editor.edits), figures::percent(editor.share)),
    });
    let things: Vec<Compared<'_, 1>> = things.collect();
    html! {
        section.card {
            div.card-head { h2 { (t!("Top ten by edits")) } span.quiet.note { (rich!("{} in all", counted!(measured.editors, "editor", "editors"))) } }
            div.answer.alone { (bars(t!("Edits of a user"), ["running"], &things)) }
        }
    }
}

fn by_text(measured: &ArticleMetrics) -> Markup {
    let things = measured.top_by_text.iter().map(|editor| Compared {
        name: &editor.user,
        values: [editor.added as f64],
        told: size(editor.added),
    });
    let things: Vec<Compared<'_, 1>> = things.collect();
    html! {
        section.card {
            div.card-head { h2 { (t!("Top ten by text")) } span.quiet.note { (t!("added, reverts apart")) } }
            div.answer.alone { (bars(t!("Text added by a user"), ["succeeded"], &things)) }
        }
    }
}

/// A size on an axis, whose lines are at round numbers of tens.
fn bytes(value: f64) -> String {
    let (number, unit) = match value {
        _ if value >= 1e6 => (value / 1e6, "MB"),
        _ if value >= 1e3 => (value / 1e3, "kB"),
        _ => (value, "B"),
    };
    format!("{} {unit}", words::decimal(number, usize::from(number.fract() != 0.0)))
}

/// A count on an axis: in full while it is short.
fn whole(value: f64) -> String {
    words::on_axis(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(name: &str, edits: u64, minor: u64, anonymous: u64) -> Period {
        Period { period: name.into(), edits, minor, anonymous, size: None }
    }

    #[test]
    fn the_parts_of_a_bar_make_its_whole() {
        for (edits, minor_, anonymous) in [(10, 3, 2), (10, 9, 9), (0, 0, 0), (4, 4, 0), (1, 1, 1)] {
            let period = period("2018-03", edits, minor_, anonymous);
            assert_eq!(other(&period) + minor(&period) + anonymous, edits, "{period:?}");
        }
    }

    #[test]
    fn sizes_on_the_axis_are_short() {
        let told = [0.0, 500.0, 2_000.0, 2_500.0, 40_000.0, 1e6].map(bytes);
        assert_eq!(told, ["0 B", "500 B", "2 kB", "2.5 kB", "40 kB", "1 MB"]);
    }

    #[test]
    fn long_histories_are_drawn_by_years() {
        let months: Vec<Period> = (0..=MONTHS_MAX).map(|n| period(&format!("m{n}"), 1, 0, 0)).collect();
        let years = [period("2018", 321, 0, 0)];
        assert_eq!(edits(&months, &years).title, "Edits a year");
        assert_eq!(edits(&months[1..], &years).title, "Edits a month");
    }

    #[test]
    fn the_size_at_a_moment_is_that_of_the_edit_before_it() {
        let point = |second: i64, size: u64| SizeAt { at: jiff::Timestamp::from_second(second).expect("a time"), size };
        let drawn = moments(&[point(0, 10), point(10, 50), point(1_190, 20)]);
        assert_eq!(drawn.len(), MOMENTS);
        assert_eq!((drawn[0], drawn[1], drawn[2]), ((0, 10), (10, 50), (20, 50)));
        assert_eq!(drawn[MOMENTS - 1], (1_190, 20));
        assert_eq!(moments(&[point(5, 7)]), [(5, 7)]);
        assert_eq!(moments(&[]), []);
        assert!(!sizes(&[]).card().into_string().contains("NaN"));
    }
}
