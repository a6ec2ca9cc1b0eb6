//! The three answers about bike rides.

use std::cmp::Reverse;
use std::time::Duration;

use malla_analyze::Study;
use malla_analyze::bikes::Params;
use maud::{Markup, html};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{ROWS_MAX, Shown};
use crate::bars::{Compared, bars};
use crate::plot::{Plot, Series, Shape};
use crate::words;

/// Stations that are drawn.
const BARS_MAX: usize = 12;
/// Days that are drawn: more are too thin to be seen.
const DAYS_MAX: usize = 366;

#[derive(Deserialize)]
struct Rain {
    overall: Option<f64>,
    days: Vec<Day>,
    left_out: u64,
}

#[derive(Deserialize)]
struct Day {
    date: String,
    average_s: f64,
    trips: u64,
}

#[derive(Deserialize)]
struct Stations<S> {
    stations: Vec<S>,
    left_out: u64,
}

#[derive(Deserialize)]
struct Grown {
    name: String,
    base: u64,
    compared: u64,
}

#[derive(Deserialize)]
struct Far {
    name: String,
    average_km: f64,
    trips: u64,
}

/// `None` if it is not one of these answers.
pub(super) fn shown(study: &Study, name: &str, json: &[u8]) -> Option<Shown> {
    let params: Params = serde_json::from_value(study.params.clone()).ok()?;
    match name {
        "rain" => Some(rain(&params, &read(json)?)),
        "year" => Some(year(&params, &read(json)?)),
        "city" => Some(city(&params, &read(json)?)),
        _ => None,
    }
}

fn read<A: DeserializeOwned>(json: &[u8]) -> Option<A> {
    serde_json::from_slice(json).ok()
}

fn rain(params: &Params, rain: &Rain) -> Shown {
    let trips: u64 = rain.days.iter().map(|day| day.trips).sum();
    let sentence = html! {
        @match rain.overall {
            Some(average) => {
                @let average = html! { strong { (lasts(average)) } };
                @let (trips, days) = (counted!(trips, "trip", "trips"), counted!(rain.days.len() as u64, "day", "days"));
                (rich!("On days with more than {} mm of rain, a trip takes {} on average: {} on {}.", params.precipitation_mm, average, trips, days))
            },
            None => { (rich!("No trip began on a day with more than {} mm of rain.", params.precipitation_mm)) },
        }
        (left_out(rain.left_out))
    };
    let table = html! {
        table.rows.upright {
            thead { tr { th { (t!("Day")) } th.num { (t!("Average")) } th.num { (t!("Trips")) } } }
            tbody { @for day in rain.days.iter().take(ROWS_MAX) { tr {
                td data-label=(t!("Day")) { (day.date) }
                td.num data-label=(t!("Average")) { (lasts(day.average_s)) }
                td.num data-label=(t!("Trips")) { (words::count(day.trips)) }
            } } }
        }
    };
    let some = !rain.days.is_empty();
    Shown {
        title: t!("Trips in the rain").into(),
        sentence,
        drawing: some.then(|| rainy_days(&rain.days)),
        table: some.then_some((table, rain.days.len())),
    }
}

fn rainy_days(days: &[Day]) -> Markup {
    let drawn = &days[days.len().saturating_sub(DAYS_MAX)..];
    let longest = drawn.iter().max_by(|one, other| one.average_s.total_cmp(&other.average_s));
    let description = longest.map_or_else(String::new, |day| {
        say!("{} rainy days. The longest trips were on {}: {}.", drawn.len(), day.date, lasts(day.average_s))
    });
    let plot = Plot {
        id: "rain",
        title: t!("Average duration by day"),
        description,
        shape: Shape::Bars,
        series: vec![Series {
            name: t!("on average"),
            tone: "running",
            values: drawn.iter().map(|day| Some(day.average_s / 60.0)).collect(),
        }],
        places: drawn.iter().map(|day| day.date.clone()).collect(),
        number: minutes,
    };
    html! {
        p.quiet.note { (t!("Average duration of a trip, by day")) @if drawn.len() < days.len() { (rich!(", the last {} days", DAYS_MAX)) } }
        (plot.drawing())
    }
}

fn year(params: &Params, answer: &Stations<Grown>) -> Shown {
    let (base, compared) = (params.year_base.to_string(), params.year_compared.to_string());
    let all = &answer.stations;
    let sentence = html! {
        strong { (stations(all.len())) } " "
        (rich!("had at least {} times as many trips in {} as in {}.", params.factor, compared, base)) (left_out(answer.left_out))
    };
    let mut most: Vec<&Grown> = all.iter().collect();
    most.sort_by_key(|station| Reverse(station.compared));
    most.truncate(BARS_MAX);
    let things: Vec<Compared<'_, 2>> = most
        .iter()
        .map(|station| Compared {
            name: named(&station.name),
            values: [station.base as f64, station.compared as f64],
            told: format!("{} → {}", words::count(station.base), words::count(station.compared)),
        })
        .collect();
    let drawing = html! {
        ul.legend {
            li { span.dot.s-discarded {} (base) }
            li { span.dot.s-running {} (compared) }
            @if most.len() < all.len() { li { (rich!("the {} with the most trips in {}", BARS_MAX, compared)) } }
        }
        (bars(t!("Trips of a station in both years"), ["discarded", "running"], &things))
    };
    let table = html! {
        table.rows.upright {
            thead { tr { th { (t!("Station")) } th.num { (base) } th.num { (compared) } th.num { (t!("Times")) } } }
            tbody { @for station in all.iter().take(ROWS_MAX) { tr {
                td data-label=(t!("Station")) { (named(&station.name)) }
                td.num data-label=(base) { (words::count(station.base)) }
                td.num data-label=(compared) { (words::count(station.compared)) }
                td.num data-label=(t!("Times")) { (times(station)) }
            } } }
        }
    };
    of_stations(t!("Stations that have grown"), sentence, drawing, table, all.len())
}

fn city(params: &Params, answer: &Stations<Far>) -> Shown {
    let all = &answer.stations;
    let sentence = html! {
        @let number = html! { strong { (stations(all.len())) } };
        @if all.len() < 2 {
            (rich!("{} of {} is reached by trips of more than {} km on average.", number, params.city, params.distance_km))
        } @else {
            (rich!("{} of {} are reached by trips of more than {} km on average.", number, params.city, params.distance_km))
        }
        (left_out(answer.left_out))
    };
    let mut farthest: Vec<&Far> = all.iter().collect();
    farthest.sort_by(|one, other| other.average_km.total_cmp(&one.average_km));
    farthest.truncate(BARS_MAX);
    let things: Vec<Compared<'_, 1>> = farthest
        .iter()
        .map(|station| Compared {
            name: named(&station.name),
            values: [station.average_km],
            told: kilometres(station.average_km),
        })
        .collect();
    let drawing = html! {
        p.quiet.note {
            (t!("Average distance from the station of start"))
            @if farthest.len() < all.len() { (rich!(", the farthest {}", BARS_MAX)) }
        }
        (bars(t!("Average distance to a station"), ["running"], &things))
    };
    let table = html! {
        table.rows.upright {
            thead { tr { th { (t!("Station")) } th.num { (t!("Average")) } th.num { (t!("Trips")) } } }
            tbody { @for station in all.iter().take(ROWS_MAX) { tr {
                td data-label=(t!("Station")) { (named(&station.name)) }
                td.num data-label=(t!("Average")) { (kilometres(station.average_km)) }
                td.num data-label=(t!("Trips")) { (words::count(station.trips)) }
            } } }
        }
    };
    of_stations(t!("Stations reached from afar"), sentence, drawing, table, all.len())
}

fn of_stations(title: &str, sentence: Markup, drawing: Markup, table: Markup, rows: usize) -> Shown {
    let some = rows > 0;
    Shown { title: title.into(), sentence, drawing: some.then_some(drawing), table: some.then_some((table, rows)) }
}

fn stations(number: usize) -> String {
    if number == 0 { t!("No station").into() } else { counted!(number as u64, "station", "stations") }
}

/// Names come from files, and may be empty there.
fn named(name: &str) -> &str {
    if name.trim().is_empty() { t!("(no name)") } else { name }
}

fn left_out(trips: u64) -> Markup {
    html! {
        @if trips > 0 {
            span.quiet {
                " "
                @if trips == 1 { (t!("1 trip was left out: its station or weather is not known.")) }
                @else { (rich!("{} trips were left out: their station or weather is not known.", words::count(trips))) }
            }
        }
    }
}

fn lasts(seconds: f64) -> String {
    words::lasted(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX))
}

/// On the axis.
fn minutes(minutes: f64) -> String {
    match minutes {
        few if few < 100.0 && few.fract().abs() > 0.05 => format!("{} min", words::decimal(few, 1)),
        many => format!("{} min", words::count(many.round() as u64)),
    }
}

fn kilometres(km: f64) -> String {
    format!("{} km", words::decimal(km, 2))
}

fn times(station: &Grown) -> String {
    words::decimal(station.compared as f64 / station.base.max(1) as f64, 1)
}
